-- expect: tests/bad_configs/positions_negative.lua:4: model.positions.position: at index 0 the function gives -1; expected a number from 0 to 1.67772e+07
return {
  task = "copy",
  model = { layers = 1, heads = 2, positions = { "custom", position = function(i) return i - 1 end } },
  train = { steps = 10, length = 16 },
}

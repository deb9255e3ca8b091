-- expect: tests/bad_configs/positions_fractional.lua:4: model.positions.position: at index 1 the position is 0.25; t5 needs whole ones
return {
  task = "copy",
  model = { layers = 1, heads = 2, encoding = "t5", positions = { "custom", position = function(i) return i / 4 end } },
  train = { steps = 10, length = 16 },
}

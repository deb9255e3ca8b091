-- expect: tests/bad_configs/positions_fall.lua:4: model.positions.position: at index 3, length 16 the position falls from 2 to 0; it may stay or rise
return {
  task = "copy",
  model = { layers = 1, heads = 2, positions = { "custom", position = function(i, length) return i % 3 end } },
  train = { steps = 10, length = 16 },
}

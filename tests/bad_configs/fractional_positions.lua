-- expect: tests/bad_configs/fractional_positions.lua:4: model.positions: random_floats are no whole numbers, and t5 needs whole positions
return {
  task = "copy",
  model = { encoding = "t5", positions = { "random_floats", N = 512 } },
  train = { steps = 10, length = 64 },
}

-- expect: tests/bad_configs/rate_of_too_many_steps.lua:4: train.learning_rate: a function is tabulated for at most 1000000 steps; the run has 1000000000
return {
  task = "copy",
  train = { steps = 1e9, length = 16, learning_rate = function() return 1e-3 end },
}

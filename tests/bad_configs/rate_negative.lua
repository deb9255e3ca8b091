-- expect: tests/bad_configs/rate_negative.lua:6: train.learning_rate: at step 5 the function gives -0.001; expected a number from 0 to 10
return {
  task = "copy",
  train = {
    steps = 10, length = 16,
    learning_rate = function(step) return 1e-3 * (4 - step) end,
  },
}

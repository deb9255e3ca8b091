-- expect: tests/bad_configs/rate_nan.lua:6: train.learning_rate: at step 1 the function gives nan; expected a number from 0 to 10
return {
  task = "copy",
  train = {
    steps = 10, length = 16,
    learning_rate = function(step) return (step - 1) / (step - 1) end,
  },
}

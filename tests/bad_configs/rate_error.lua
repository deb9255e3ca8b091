-- expect: tests/bad_configs/rate_error.lua:8: train.learning_rate: at step 1: attempt to index a nil value (field '?')
local rates = {}
return {
  task = "copy",
  train = {
    steps = 10, length = 16,
    learning_rate = function(step)
      return rates[step].value
    end,
  },
}

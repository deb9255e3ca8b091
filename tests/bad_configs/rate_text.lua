-- expect: tests/bad_configs/rate_text.lua:4: train.learning_rate: at step 1 the function gives "0.001" (a text); expected a number from 0 to 10
return {
  task = "copy",
  train = { steps = 10, length = 16, learning_rate = function() return "0.001" end },
}

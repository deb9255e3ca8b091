-- expect: tests/bad_configs/hostile_goto_in_rate.lua:5: train.learning_rate: at step 1: the config takes longer than 1 s
return {
  task = "copy",
  train = { steps = 10, length = 16, learning_rate = function(step)
    ::again:: goto again
  end },
}
-- ThreadSanitizer keeps signals back until something that it sees is called: here nothing is

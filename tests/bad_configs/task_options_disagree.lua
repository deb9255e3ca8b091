-- expect: tests/bad_configs/task_options_disagree.lua:5: train.length: recall at length 64: keys = 4 is less than pairs = 8: each pair has its own
-- expect: tests/bad_configs/task_options_disagree.lua:6: evaluate.lengths: recall at length 128: keys = 4 is less than pairs = 8: each pair has its own
return {
  task = { "recall", pairs = 8, keys = 4 },
  train = { steps = 10, length = 64 },
  evaluate = { lengths = 128 },
}

-- expect: tests/bad_configs/task_too_short.lua:7: train.stages.2.length: recall at length 100: needs at least 2 * pairs + 2 = 130 tokens
-- expect: tests/bad_configs/task_too_short.lua:9: evaluate.lengths: recall at length 128: needs at least 2 * pairs + 2 = 130 tokens
return {
  task = { "recall", pairs = 64 },
  train = { stages = {
    { steps = 10, length = 100, pairs = 8 },
    { steps = 10, length = 100 },
  } },
  evaluate = { lengths = { 128, 130 } },
}

-- expect: tests/bad_configs/study_infinite.lua:6: train.learning_rate: got -inf; expected a number from 0 to 10, or function(step)
-- expect: tests/bad_configs/study_infinite.lua:6: train.learning_rate: got inf; expected a number from 0 to 10, or function(step)
-- expect: tests/bad_configs/study_infinite.lua:6: train.learning_rate: got nan; expected a number from 0 to 10, or function(step)
return study {
  base = { task = "copy", train = { steps = 10, length = 16 } },
  grid = { ["train.learning_rate"] = { 1 / 0, 0 / 0, -1 / 0 } },
}

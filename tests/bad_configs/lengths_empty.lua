-- expect: tests/bad_configs/lengths_empty.lua:5: train.length: got an empty table; expected an integer from 1 to 16777216, a list of them, or { from = a, to = b }
-- expect: tests/bad_configs/lengths_empty.lua:6: evaluate.lengths: got an empty table; expected an integer from 1 to 16777216, or a list of them
return {
  task = "copy",
  train = { steps = 10, length = {} },
  evaluate = { lengths = {} },
}

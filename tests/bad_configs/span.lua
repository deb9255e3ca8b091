-- expect: tests/bad_configs/span.lua:11: train.stages.1.length: the range from 64 to 32 is empty
-- expect: tests/bad_configs/span.lua:12: train.stages.2.length: got a table; expected an integer from 1 to 16777216, a list of them, or { from = a, to = b }
-- expect: tests/bad_configs/span.lua:13: train.stages.3.length.2: got 16.5; expected an integer from 1 to 16777216
-- expect: tests/bad_configs/span.lua:14: train.stages.4.length: got an empty table; expected an integer from 1 to 16777216, a list of them, or { from = a, to = b }
-- expect: tests/bad_configs/span.lua:15: train.stages.5.length: got a table; expected an integer from 1 to 16777216, a list of them, or { from = a, to = b }
-- expect: tests/bad_configs/span.lua:16: train.stages.6.length: got "8" (a text); expected an integer from 1 to 16777216, a list of them, or { from = a, to = b }
return {
  task = "copy",
  train = {
    stages = {
      { steps = 1, length = { from = 64, to = 32 } },
      { steps = 1, length = { from = 8 } },
      { steps = 1, length = { 8, 16.5, 32 } },
      { steps = 1, length = {} },
      { steps = 1, length = { from = 8, to = 16, by = 2 } },
      { steps = 1, length = "8" },
    },
  },
}

-- expect: tests/bad_configs/stages.lua:10: train.stages.1.pair: unknown key; did you mean train.stages.1.pairs?
-- expect: tests/bad_configs/stages.lua:11: train.stages.2.steps: missing; expected an integer from 1 to 1000000000
-- expect: tests/bad_configs/stages.lua:12: train.stages.2.pairs: got 1; expected an integer from 2 to 65536
-- expect: tests/bad_configs/stages.lua:13: train.stages.3.length: missing; expected an integer from 1 to 16777216, a list of them, or { from = a, to = b }
-- expect: tests/bad_configs/stages.lua:14: train.stages.4: got 64; expected { steps = ..., length = ... }
return {
  task = { "recall", pairs = 4 },
  train = {
    stages = {
      { steps = 10, length = 64, pair = 2 },
      { length = 64,
        pairs = 1 },
      { steps = 10 },
      64,
    },
  },
}

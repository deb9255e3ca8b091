-- expect: tests/bad_configs/out_of_range.lua:13: seed: got -1; expected an integer from 0 to 9007199254740992
-- expect: tests/bad_configs/out_of_range.lua:14: data_seed: got 9007199254740994; expected an integer from 0 to 9007199254740992
-- expect: tests/bad_configs/out_of_range.lua:17: model.layers: got 61; expected an integer from 1 to 60
-- expect: tests/bad_configs/out_of_range.lua:18: model.width: got 2147483648; expected an integer from 1 to 1048576
-- expect: tests/bad_configs/out_of_range.lua:19: model.heads: got 8.5; expected an integer from 1 to 1024
-- expect: tests/bad_configs/out_of_range.lua:20: model.dropout: got 1; expected a number from 0 to 0.99
-- expect: tests/bad_configs/out_of_range.lua:21: model.init_std: got nan; expected a number from 0.000001 to 10
-- expect: tests/bad_configs/out_of_range.lua:23: train.clip: got inf; expected a number from 0 to 1000000000
-- expect: tests/bad_configs/out_of_range.lua:23: train.learning_rate: got 1000000; expected a number from 0 to 10, or function(step)
-- expect: tests/bad_configs/out_of_range.lua:23: train.length: got 2147483648; expected an integer from 1 to 16777216, a list of them, or { from = a, to = b }
-- expect: tests/bad_configs/out_of_range.lua:23: train.steps: got 0; expected an integer from 1 to 1000000000
return {
  seed = -1,
  data_seed = 2 ^ 53 + 2,
  task = "copy",
  model = {
    layers = 61,
    width = 2 ^ 31,
    heads = 8.5,
    dropout = 1,
    init_std = 0 / 0,
  },
  train = { steps = 0, length = 2 ^ 31, learning_rate = 1e6, clip = math.huge },
}

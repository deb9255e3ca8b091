-- expect: tests/bad_configs/wrong_type.lua:10: name: got 3; expected a text of at most 255 bytes
-- expect: tests/bad_configs/wrong_type.lua:13: model.heads: got "8" (a text); expected an integer from 1 to 1024
-- expect: tests/bad_configs/wrong_type.lua:13: model.width: got a table; expected an integer from 1 to 1048576
-- expect: tests/bad_configs/wrong_type.lua:14: model.bias: got 1; expected true or false
-- expect: tests/bad_configs/wrong_type.lua:15: model.dropout: got "0.1" (a text); expected a number from 0 to 0.99
-- expect: tests/bad_configs/wrong_type.lua:17: train.clip: got a function; expected a number from 0 to 1000000000
-- expect: tests/bad_configs/wrong_type.lua:17: train.decay: got true; expected constant, cosine or linear
-- expect: tests/bad_configs/wrong_type.lua:18: evaluate: got 512; expected a table of keys
return {
  name = 3,
  task = "copy",
  model = {
    heads = "8", width = { 64 },
    bias = 1,
    dropout = "0.1",
  },
  train = { steps = 10, length = 16, decay = true, clip = function() end },
  evaluate = 512,
}

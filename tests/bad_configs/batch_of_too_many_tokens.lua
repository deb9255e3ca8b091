-- expect: tests/bad_configs/batch_of_too_many_tokens.lua:4: train.batch: 128 sequences of 16777216 tokens are 2147483648 tokens a step; at most 2147483647
return {
  task = "copy",
  train = { steps = 10, length = 2 ^ 24, batch = 128 },
}

-- expect: tests/bad_configs/accumulate.lua:4: train.accumulate: a batch of 4 (at length 4096) is not enough for 8 parts
return {
  task = "copy",
  train = { steps = 10, length = 4096, tokens = 16384, accumulate = 8 },
}

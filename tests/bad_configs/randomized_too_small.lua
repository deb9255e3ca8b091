-- expect: tests/bad_configs/randomized_too_small.lua:5: train.length: positions at length 33: N = 32 places are fewer than 33 tokens
return {
  task = "copy",
  model = { positions = { "randomized", N = 32 } },
  train = { steps = 10, length = { 16, 33 } },
}

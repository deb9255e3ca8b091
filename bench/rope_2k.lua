-- The model of configs/rope_2k.lua with four layers, without stages: a shape of ./harness bench.
return {
  name  = "rope_2k",
  task  = { "recall", pairs = 16, keys = 255, values = 256 },   -- a vocabulary of 512
  model = { layers = 4, width = 128, heads = 4, encoding = "rope" },
  train = { steps = 1000, length = 2048, batch = 8, learning_rate = 1e-3 },
}

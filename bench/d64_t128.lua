-- A small model: a shape of ./harness bench.
return {
  name  = "d64_t128",
  task  = { "recall", pairs = 16, keys = 255, values = 256 },   -- a vocabulary of 512
  model = { layers = 2, width = 64, heads = 4, encoding = "rope" },
  train = { steps = 1000, length = 128, batch = 64, learning_rate = 1e-3 },
}

-- A wider model at 512 tokens: a shape of ./harness bench.
return {
  name  = "d256_t512",
  task  = { "recall", pairs = 16, keys = 255, values = 256 },   -- a vocabulary of 512
  model = { layers = 6, width = 256, heads = 8, encoding = "rope" },
  train = { steps = 1000, length = 512, batch = 16, learning_rate = 1e-3 },
}

-- Many short sequences: a shape of ./harness bench.
return {
  name  = "d128_t256",
  task  = { "recall", pairs = 16, keys = 255, values = 256 },   -- a vocabulary of 512
  model = { layers = 4, width = 128, heads = 4, encoding = "rope" },
  train = { steps = 1000, length = 256, batch = 64, learning_rate = 1e-3 },
}

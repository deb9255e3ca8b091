-- The model whose encodings `make check-torch` compares with PyTorch: some steps that move every
-- weight. tests/torch_cases.txt lists what stands in for the encoding.
return {
  name = "torch",
  task = { "copy", alphabet = 2 },
  model = { layers = 2, width = 16, heads = 2, mlp = 2, bias = true, init_std = 0.3 },
  train = { steps = 20, length = { 16, 24 }, tokens = 96, learning_rate = 0.01, warmup = 1 },
  evaluate = { lengths = { 24 }, examples = 8 },
}

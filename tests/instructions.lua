-- A small training step, whose instructions tests/instructions.sh counts.
return {
  name = "instructions",
  task = { "copy", alphabet = 60 },
  model = { layers = 1, width = 32, heads = 2, encoding = "rope" },
  train = { steps = 100, length = 256, batch = 1 },
}

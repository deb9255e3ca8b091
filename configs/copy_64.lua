-- Copy a string, trained at mixed lengths up to 64 tokens and asked up to 256.
--
-- The config for comparing encodings by what is left of a task past the trained length:
--   ./harness configs/copy_64.lua model.encoding=alibi
-- A length is drawn for each batch, so that no single offset leads from an answer to its symbol.
return {
  name  = "copy_64",
  task  = { "copy", alphabet = 32 },
  model = { layers = 2, width = 64, heads = 4, encoding = "rope" },
  train = {
    steps  = 2000,
    length = { from = 8, to = 64 },
    tokens = 2048,
    learning_rate = 3e-3,
    decay = "cosine",
  },
  evaluate = { lengths = { 16, 32, 48, 64, 80, 96, 128, 192, 256 }, examples = 64 },
}

-- Copy a string: the smallest run that shows what the program is about. A model trained on strings
-- of mixed lengths copies them without a fault, and then meets strings up to four times as long.
return {
  name  = "quickstart",
  task  = { "copy", alphabet = 32 },
  model = { layers = 2, width = 64, heads = 4, encoding = "rope" },
  train = {
    steps  = 400,
    length = { from = 8, to = 64 },                       -- one length is drawn for each batch
    tokens = 4096,                                        -- a step, whatever the length
    learning_rate = 2e-3,
    decay = "cosine",                                     -- to final_rate, 0 unless given
  },
  evaluate = { lengths = { 16, 32, 64, 96, 128, 256 }, examples = 64 },
}

-- Copy a string: the smallest run that shows what the program is about.
--
-- Trained at mixed lengths up to 32 tokens (strings of 15 symbols), a model with rotary position
-- embedding copies them without a fault; the table at the end shows what is left of it at longer
-- strings, up to four times the trained length. Seconds on two cores.
return {
  name  = "quickstart",
  task  = { "copy", alphabet = 32 },
  model = { layers = 2, width = 64, heads = 4, encoding = "rope" },
  train = {
    steps  = 1000,
    length = { 16, 20, 24, 28, 32 },                      -- one of these is drawn for each batch
    tokens = 2048,                                        -- a step, whatever the length
    learning_rate = 3e-3,
    decay = "cosine",                                     -- to final_rate, 0 unless given
  },
  evaluate = { lengths = { 16, 24, 32, 48, 64, 128 }, examples = 64 },
}

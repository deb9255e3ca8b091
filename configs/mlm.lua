-- Find masked tokens again from both sides, as BERT does: a model that is not causal.
--
-- A masked symbol agrees with its left neighbour, its right neighbour and a key farther back. With
-- rotary position embedding a small model learns all three; without positions (model.encoding=nope)
-- it finds the key and no neighbour. Try sinusoidal, learned and shaw for how long each stays on
-- the first plateau.
return {
  name  = "mlm",
  task  = { "mlm_grammar", values = 4 },                  -- 64 symbols
  model = { layers = 2, width = 64, heads = 4, causal = false, encoding = "rope", init_std = 0.05 },
  train = {
    steps  = 1500,
    length = 64,
    tokens = 2048,
    learning_rate = 2e-3,
    decay = "linear",
  },
  evaluate = { lengths = { 32, 64, 128 }, examples = 256 },
}

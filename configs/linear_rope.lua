-- Linear attention with rotary position embedding (RoFormer, equation 19): copy short strings.
--
-- At its trained lengths the model copies them without a fault (99.9 % of the tokens at 32), and
-- beyond them it does not (23 % at 48). Recall of four pairs it does not learn in as many steps:
-- a state of 16 x 16 numbers a head holds little, and no key can be singled out by a large score.
-- A minute on one core.
return {
  name  = "linear_rope",
  task  = { "copy", alphabet = 16 },
  model = {
    layers = 2, width = 64, heads = 4, encoding = "rope",
    attention = { "linear", feature_map = "elu", rotate = "after" },
  },
  train = {
    steps  = 1500,
    length = { 16, 20, 24, 28, 32 },
    tokens = 2048,
    learning_rate = 3e-3,
    decay = "cosine",
  },
  evaluate = { lengths = { 16, 24, 32, 48, 64 }, examples = 256 },
}

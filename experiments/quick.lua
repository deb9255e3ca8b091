-- Two encodings, two seeds: what a study looks like, in well under a minute
return study {
  base = {
    task = { "copy", alphabet = 8 },
    model = { layers = 1, width = 32, heads = 2 },
    train = { steps = 300, length = { from = 8, to = 32 }, tokens = 1024, warmup = 20,
              learning_rate = 3e-3 },
    evaluate = { lengths = { 16, 32, 48, 64 }, examples = 64 },
  },
  grid = { ["model.encoding"] = { "nope", "alibi" }, seed = { 1, 2 } },
  claims = {
    { "alibi ahead of no position", left = "alibi", right = "nope", length = { 1, 1.5 } },
  },
}

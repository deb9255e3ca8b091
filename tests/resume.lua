-- Everything that a checkpoint must carry: dropout, parts of a batch, stages, mixed lengths, row
-- counts, snapshots, evaluations between.
return {
  name = "resume",
  task = { "copy", alphabet = 6 },
  model = { layers = 2, width = 16, heads = 2, encoding = "learned", dropout = 0.1, bias = true },
  train = {
    tokens = 96, log_every = 3, snapshot_every = 5, checkpoint_every = 4, accumulate = 2,
    stages = { { steps = 9, length = { from = 8, to = 16 } }, { steps = 11, length = { 12, 24 } } },
  },
  evaluate = { lengths = { 8, 24, 48 }, examples = 5, every = 6 },
}

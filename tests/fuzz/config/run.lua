-- A run of a second that fills every part of a result file: a learned table with snapshots and
-- update counts, several evaluations, and a length that the encoding does not define.
return {
  name = "tiny",
  task = { "copy", alphabet = 8 },
  model = { layers = 1, width = 16, heads = 2, encoding = "learned" },
  train = { steps = 12, length = { 8, 16 }, tokens = 64, log_every = 2, snapshot_every = 4 },
  evaluate = { lengths = { 8, 16, 32 }, examples = 8, every = 6 },
}

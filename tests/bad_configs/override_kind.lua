-- expect: tests/bad_configs/override_kind.lua:9: train.stages.1.pairs: unknown key; there are steps, length, batch, alphabet, repeats, slots
-- expect: command line: model.encoding.base=500: unknown key; there are none here
-- override: task=copy
-- override: model.encoding=nope
-- override: model.encoding.base=500
return {
  task = { "recall", pairs = 4 },
  model = { encoding = { "rope", base = 10000 } },
  train = { stages = { { steps = 10, length = 64, pairs = 2 } } },
}

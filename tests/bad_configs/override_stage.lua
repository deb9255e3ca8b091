-- expect: command line: train.stages.3.steps=5: there is no stage 3; train.stages has 2
-- expect: command line: train.stages.x.steps=5: there is no stage x; train.stages has 2
-- expect: command line: train.stages.1.pairs=1: got 1; expected an integer from 2 to 65536
-- expect: command line: train.stages.2.lenght=5: unknown key; did you mean train.stages.2.length?
-- expect: command line: train.steps=5: has no meaning beside train.stages, which say it
-- override: train.stages.3.steps=5
-- override: train.stages.x.steps=5
-- override: train.stages.1.pairs=1
-- override: train.stages.2.lenght=5
-- override: train.steps=5
return {
  task = { "recall", pairs = 4 },
  train = { stages = { { steps = 10, length = 64 }, { steps = 10, length = 64 } } },
}

-- override: base.train.steps=5 grid.seed=2 base.model.encoding=rope list=3 base.nothing=1
-- override: train.learning_rate=function(step)return(1)end
-- expect: command line: base.train.steps=5: unknown key; did you mean train.steps?
-- expect: command line: grid.seed=2: unknown key; did you mean seed?
-- expect: command line: base.model.encoding=rope: unknown key; did you mean model.encoding?
-- expect: command line: list=3: it stands in study files only: return study { base = ..., list = ... }
-- expect: command line: base.nothing=1: it stands in study files only: return study { base = ..., grid = ... }
-- expect: command line: train.learning_rate=function(step)return(1)end: got "function(step)return(1)end" (a text); expected a number from 0 to 10, or function(step), which has to stand in a file
return study {
  base = { task = "copy", train = { steps = 10, length = 16 } },
  grid = { seed = { 1 } },
}

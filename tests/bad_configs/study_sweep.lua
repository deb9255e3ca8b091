-- override: seed=1,1 model.width=16,,32 model.heads=4..2 model.layers=1..1000000
-- expect: command line: seed=1,1: 1 is there twice
-- expect: command line: model.width=16,,32: an empty value
-- expect: command line: model.heads=4..2: a range that holds nothing
-- expect: command line: model.layers=1..1000000: too many values
return { task = "copy", train = { steps = 10, length = 16 } }

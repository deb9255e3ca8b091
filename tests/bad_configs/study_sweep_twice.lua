-- override: seed=1..3,2
-- expect: command line: seed=1..3,2: 2 is there twice
return { task = "copy", train = { steps = 10, length = 16 } }

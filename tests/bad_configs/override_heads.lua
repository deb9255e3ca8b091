-- expect: command line: model.width=66: width = 66 is not a multiple of heads = 4
-- override: model.width=66
return { task = "copy", model = { heads = 4 }, train = { steps = 10, length = 16 } }

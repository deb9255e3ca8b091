-- expect: tests/bad_configs/kind_option.lua:5: task.paris: unknown key; did you mean task.pairs?
-- expect: tests/bad_configs/kind_option.lua:9: model.encoding.bas: unknown key; did you mean model.encoding.base?
-- expect: tests/bad_configs/kind_option.lua:10: model.encoding.fraction: got "half" (a text); expected a number from 0 to 1
return {
  task = { "recall", paris = 4 },
  model = {
    encoding = {
      "rope",
      bas = 500,
      fraction = "half",
    },
  },
  train = { steps = 10, length = 64 },
}

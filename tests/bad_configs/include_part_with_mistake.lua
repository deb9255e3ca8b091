-- expect: tests/bad_configs/parts/model.lua:3: model.head: unknown key; did you mean model.heads?
return {
  task = "copy",
  model = include "parts/model.lua",
  train = { steps = 10, length = 16 },
}

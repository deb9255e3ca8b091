-- expect: tests/bad_configs/rope_scaling.lua:4: model.encoding.factor: factor = 0.5; scaling = yarn needs at least 1
return {
  task = "copy",
  model = { encoding = { "rope", scaling = "yarn", factor = 0.5 } },
  train = { steps = 10, length = 64 },
}

-- expect: tests/bad_configs/rope_factor_missing.lua:4: model.encoding: factor = 0 (not given); scaling = linear needs at least 1
return {
  task = "copy",
  model = { encoding = { "rope", scaling = "linear" } },
  train = { steps = 10, length = 64 },
}

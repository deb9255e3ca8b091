-- expect: tests/bad_configs/rope_factor_of_llama3.lua:4: model.encoding.factor: factor = 0.999; scaling = llama3 needs at least 1
return {
  task = "copy",
  model = { encoding = { "rope", scaling = "llama3", factor = 0.999 } },
  train = { steps = 10, length = 64 },
}

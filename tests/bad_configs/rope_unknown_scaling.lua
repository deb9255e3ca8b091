-- expect: tests/bad_configs/rope_unknown_scaling.lua:4: model.encoding.scaling: got "longrope" (a text); expected none, linear, ntk, dynamic, yarn or llama3
return {
  task = "copy",
  model = { encoding = { "rope", scaling = "longrope", factor = 4 } },
  train = { steps = 10, length = 64 },
}

-- expect: tests/bad_configs/heads.lua:4: model.heads: width = 64 is not a multiple of heads = 3
return {
  task = "copy",
  model = { width = 64, heads = 3 },
  train = { steps = 10, length = 16 },
}

-- expect: tests/bad_configs/xpos_odd_head_width.lua:4: model.heads: xpos needs an even head width, width / heads = 15
return {
  task = "copy",
  model = { width = 60, heads = 4, encoding = "xpos" },
  train = { steps = 10, length = 16 },
}

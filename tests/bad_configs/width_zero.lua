-- expect: tests/bad_configs/width_zero.lua:5: model.heads: got 0; expected an integer from 1 to 1024
-- expect: tests/bad_configs/width_zero.lua:5: model.width: got 0; expected an integer from 1 to 1048576
return {
  task = "copy",
  model = { width = 0, heads = 0, encoding = "rope" },
  train = { steps = 10, length = 16 },
}

-- expect: tests/bad_configs/linear_alibi.lua:4: model.attention: linear attention has no scores: alibi adds to them
return {
  task = "copy",
  model = { attention = "linear", encoding = "alibi" },
  train = { steps = 10, length = 16 },
}

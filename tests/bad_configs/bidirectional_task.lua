-- expect: tests/bad_configs/bidirectional_task.lua:4: model.causal: false, but the answers of copy stand in the tokens that a bidirectional model reads
return {
  task = "copy",
  model = { causal = false, encoding = "rope" },
  train = { steps = 10, length = 16 },
}

-- expect: tests/bad_configs/function_missing.lua:5: model.encoding.bias: missing; expected function(head, distance, length)
-- expect: tests/bad_configs/function_missing.lua:5: model.positions.position: missing; expected function(index, length)
return {
  task = "copy",
  model = { layers = 1, heads = 2, encoding = "custom", positions = { "custom" } },
  train = { steps = 10, length = 16 },
}

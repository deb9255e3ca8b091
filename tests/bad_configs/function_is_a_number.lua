-- expect: tests/bad_configs/function_is_a_number.lua:6: model.encoding.bias: got 3; expected function(head, distance, length)
-- expect: command line: model.positions.position=1: got 1; expected function(index, length), which has to stand in a file
-- override: model.positions.position=1
return {
  task = "copy",
  model = { layers = 1, heads = 2, encoding = { "custom", bias = 3 }, positions = "custom" },
  train = { steps = 10, length = 16 },
}

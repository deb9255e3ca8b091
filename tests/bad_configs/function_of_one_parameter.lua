-- expect: tests/bad_configs/function_of_one_parameter.lua:4: model.encoding.bias: a function of 1 parameter; expected function(head, distance, length)
return {
  task = "copy",
  model = { layers = 1, heads = 2, encoding = { "custom", bias = function(head) return 0 end } },
  train = { steps = 10, length = 16 },
}

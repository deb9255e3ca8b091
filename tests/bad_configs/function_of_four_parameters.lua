-- expect: tests/bad_configs/function_of_four_parameters.lua:4: model.encoding.bias: a function of 4 parameters; expected function(head, distance, length)
return {
  task = "copy",
  model = { layers = 1, heads = 2, encoding = { "custom", bias = function(a, b, c, d) return 0 end } },
  train = { steps = 10, length = 16 },
}

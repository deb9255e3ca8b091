-- expect: tests/bad_configs/function_of_too_many_numbers.lua:4: model.encoding.bias: the function has to give 2002000 numbers for 1 lengths; at most 1048576
return {
  task = "copy",
  model = { layers = 1, heads = 2, encoding = { "custom", bias = function(h, d) return 0 end } },
  train = { steps = 10, length = 1001000, tokens = 1001000 },
}

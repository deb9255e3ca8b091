-- expect: tests/bad_configs/function_of_too_many_lengths.lua:4: model.encoding.bias: the function has to give 1210860 numbers for 1085 lengths; at most 1048576 (without the parameter length once for all)
return {
  task = "copy",
  model = { layers = 1, heads = 2, encoding = { "custom", bias = function(h, d, length) return 0 end } },
  train = { steps = 10, length = { from = 16, to = 1100 } },
}

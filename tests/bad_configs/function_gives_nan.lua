-- expect: tests/bad_configs/function_gives_nan.lua:4: model.encoding.bias: at head 1, distance 0 the function gives nan; expected a number from -1e+30 to 1e+30
return {
  task = "copy",
  model = { layers = 1, heads = 2, encoding = { "custom", bias = function(head, distance) return 0 / 0 end } },
  train = { steps = 10, length = 16 },
}

-- expect: tests/bad_configs/function_gives_infinity.lua:4: model.encoding.bias: at head 2, distance 3 the function gives -inf; expected a number from -1e+30 to 1e+30
return {
  task = "copy",
  model = { layers = 1, heads = 2, encoding = { "custom", bias = function(h, d) return h == 2 and d == 3 and -math.huge or 0 end } },
  train = { steps = 10, length = 16 },
}

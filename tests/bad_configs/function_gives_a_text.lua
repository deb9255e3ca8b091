-- expect: tests/bad_configs/function_gives_a_text.lua:4: model.encoding.bias: at head 1, distance 0, length 16 the function gives "3" (a text); expected a number from -1e+30 to 1e+30
return {
  task = "copy",
  model = { layers = 1, heads = 2, encoding = { "custom", bias = function(h, d, length) return "3" end } },
  train = { steps = 10, length = 16 },
}

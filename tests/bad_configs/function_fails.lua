-- expect: tests/bad_configs/function_fails.lua:4: model.encoding.bias: at head 1, distance 2: attempt to index a nil value (field '?')
return {
  task = "copy",
  model = { layers = 1, heads = 2, encoding = { "custom", bias = function(h, d) return ({ {}, {} })[d + 1][1] or 0 end } },
  train = { steps = 10, length = 16 },
}

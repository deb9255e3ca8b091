-- expect: tests/bad_configs/rope_frequency_and_base.lua:4: model.encoding.base: base = 500 has no meaning beside frequency
return {
  task = "copy",
  model = { layers = 1, heads = 2, encoding = { "rope", base = 500, frequency = function(pair) return 1 end } },
  train = { steps = 10, length = 16 },
}

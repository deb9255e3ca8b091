-- expect: tests/bad_configs/rope_frequency_and_ntk.lua:4: model.encoding.scaling: scaling = ntk changes base, which has no meaning beside frequency
return {
  task = "copy",
  model = { layers = 1, heads = 2, encoding = { "rope", scaling = "ntk", factor = 2, frequency = function(pair) return 1 end } },
  train = { steps = 10, length = 16 },
}

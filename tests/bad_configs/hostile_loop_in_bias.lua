-- expect: tests/bad_configs/hostile_loop_in_bias.lua:5: model.encoding.bias: at head 1, distance 0: the config takes longer than 1 s
return {
  task = "copy",
  model = { layers = 1, heads = 2, encoding = { "custom", bias = function(h, d)
    while true do end end } },
  train = { steps = 10, length = 16 },
}
-- ThreadSanitizer keeps signals back until something that it sees is called: here nothing is

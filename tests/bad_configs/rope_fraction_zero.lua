-- expect: tests/bad_configs/rope_fraction_zero.lua:4: model.encoding.fraction: fraction = 0 of a head width of 16 gives 0 rotary channels; it must be even and at least 2
return {
  task = "copy",
  model = { width = 64, heads = 4, encoding = { "rope", fraction = 0 } },
  train = { steps = 10, length = 16 },
}

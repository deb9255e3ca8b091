-- expect: tests/bad_configs/rope_fraction.lua:8: model.encoding.fraction: fraction = 0.25 of a head width of 10 gives 2.5 rotary channels; it must be even and at least 2
return {
  task = "copy",
  model = {
    width = 40,
    heads = 4,
    encoding = { "rope",
      fraction = 0.25 },
  },
  train = { steps = 10, length = 16 },
}

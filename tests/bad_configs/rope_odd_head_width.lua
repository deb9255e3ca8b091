-- expect: tests/bad_configs/rope_odd_head_width.lua:4: model.encoding: fraction = 1 of a head width of 9 gives 9 rotary channels; it must be even and at least 2
return {
  task = "copy",
  model = { width = 36, heads = 4, encoding = "rope" },
  train = { steps = 10, length = 16 },
}

-- expect: tests/bad_configs/lengths_twice.lua:5: evaluate.lengths: 32 is there twice
return {
  task = "copy",
  train = { steps = 10, length = 16 },
  evaluate = { lengths = { 32, 16, 32 } },
}

-- expect: tests/bad_configs/randomized_too_small.lua:5: train.length: positions at length 33: randomized positions have N = 32 places, length 33 needs as many
return {
  task = "copy",
  model = { positions = { "randomized", N = 32 } },
  train = { steps = 10, length = { 16, 33 } },
}

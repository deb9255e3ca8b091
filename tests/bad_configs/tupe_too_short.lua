-- expect: tests/bad_configs/tupe_too_short.lua:5: train.length: tupe has 32 positions, length 33 needs 33; past_end = "clamp" or "interpolate" would define it
return {
  task = "copy",
  model = { encoding = { "tupe", positions = 32 } },
  train = { steps = 10, length = { 16, 33 } },
}

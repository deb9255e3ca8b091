-- expect: tests/bad_configs/learned_too_short.lua:7: train.stages.2.length: learned has 64 positions, length 65 needs 65; past_end = "clamp", "interpolate", "hierarchical" or "random" would define it
return {
  task = "copy",
  model = { encoding = { "learned", positions = 64 } },
  train = { stages = {
    { steps = 10, length = 64 },
    { steps = 10, length = { from = 16, to = 65 } },
  } },
}

-- expect: tests/bad_configs/stages_beside_steps.lua:6: train.steps: has no meaning beside train.stages, which say it
-- expect: tests/bad_configs/stages_beside_steps.lua:8: train.length: has no meaning beside train.stages, which say it
return {
  task = "copy",
  train = {
    steps = 10,
    stages = { { steps = 10, length = 16 } },
    length = 16,
  },
}

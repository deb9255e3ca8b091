-- expect: tests/bad_configs/stages_with_a_hole.lua:5: train.stages: got a table; expected a list of 1 to 32 stages
return {
  task = "copy",
  train = {
    stages = { { steps = 10, length = 16 }, nil, { steps = 10, length = 16 } },
  },
}

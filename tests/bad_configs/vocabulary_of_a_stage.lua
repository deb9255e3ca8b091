-- expect: tests/bad_configs/vocabulary_of_a_stage.lua:5: train.stages.1: copy has 11 tokens here and 35 in the task; they must agree
return {
  task = { "copy", alphabet = 32 },
  train = { stages = {
    { steps = 10, length = 16, alphabet = 8 },
    { steps = 10, length = 16 },
  } },
}

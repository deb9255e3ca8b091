-- Retrieve values by key in a context of 2048 tokens, with rotary position embedding.
--
-- The context starts with 64 key-value pairs; then keys are asked for to its end, and the model
-- names the value of each. Started at 2048 tokens a model of this size learns nothing for a long
-- time; with lengths that grow it gets there in minutes.
return {
  name  = "rope_2k",
  seed  = 1,                        -- init_seed and data_seed follow it unless given
  task  = { "recall", pairs = 64 },
  model = { layers = 2, width = 128, heads = 4, encoding = { "rope", base = 10000 } },
  train = {
    tokens = 16384,                 -- a step, whatever the length: the batch shrinks as it grows
    learning_rate = 1e-3,
    stages = {                      -- a stage may set any option of the task
      { steps = 800, length = 256, pairs = 8 },
      { steps = 150, length = 512 }, { steps = 150, length = 1024 },
      { steps = 400, length = 2048, pairs = 64 },
    },
  },
  evaluate = { lengths = { 256, 512, 1024, 2048, 4096, 8192 }, examples = 64 },
}

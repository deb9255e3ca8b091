-- expect: tests/bad_configs/unknown_key.lua:10: model.head: unknown key; did you mean model.heads?
-- expect: tests/bad_configs/unknown_key.lua:11: model.widht: unknown key; did you mean model.width?
-- expect: tests/bad_configs/unknown_key.lua:13: trian: unknown key; did you mean train?
-- expect: tests/bad_configs/unknown_key.lua:14: train.lr: unknown key; there are steps, length, batch, tokens, accumulate, learning_rate, decay, final_rate, warmup, stage_warmup, weight_decay, beta1, beta2, epsilon, clip, log_every, checkpoint_every, snapshot_every, init_from, init_sha256, stages
-- expect: tests/bad_configs/unknown_key.lua:15: evaluate.steps: unknown key; did you mean train.steps?
return {
  task = "copy",
  model = {
    layers = 2, -- a comment with model.head = 3
    head = 8,
    ["widht"] = 64,
  },
  trian = {},
  train = { steps = 10, length = 16, lr = 1e-3 },
  evaluate = { steps = 3 },
}

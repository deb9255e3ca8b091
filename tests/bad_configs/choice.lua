-- expect: tests/bad_configs/choice.lua:5: model.encoding.past_end: got "stretch" (a text); expected error, clamp, interpolate, hierarchical or random
-- expect: tests/bad_configs/choice.lua:6: train.decay: got "cosin"; did you mean cosine? Expected constant, cosine or linear
return {
  task = "copy",
  model = { encoding = { "learned", past_end = "stretch" } },
  train = { steps = 10, length = 16, decay = "cosin" },
}

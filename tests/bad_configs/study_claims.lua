-- expect: tests/bad_configs/study_claims.lua:13: claims.1.left: no run of the study has model.encoding = tt5
-- expect: tests/bad_configs/study_claims.lua:14: claims.2.length: missing; expected a multiple of the trained length: 1.5, or { 1.5, 2 }
-- expect: tests/bad_configs/study_claims.lua:14: claims.2.right: missing; right, or value = a number
-- expect: tests/bad_configs/study_claims.lua:14: claims.2: its first value is what it says, a text of at most 127 letters
-- expect: tests/bad_configs/study_claims.lua:15: claims.3.relation: got "="; expected ">" or "<"
-- expect: tests/bad_configs/study_claims.lua:15: claims.3.value: a claim has right or value, not both
-- expect: tests/bad_configs/study_claims.lua:16: claims.4.lengths: unknown key; did you mean length?
-- expect: tests/bad_configs/study_claims.lua:16: claims.4.metric: got "accuracy"; expected "sequence_accuracy" or "token_accuracy" or "loss"
return study {
  base = { task = "copy", train = { steps = 10, length = 16 } },
  grid = { ["model.encoding"] = { "t5", "nope" } },
  claims = {
    { "a", left = "tt5", right = "nope", length = 2 },
    { left = "t5" },
    { "c", left = "t5", right = "nope", value = 1, relation = "=", length = 2 },
    { "d", left = "t5", right = "nope", lengths = 2, length = 2, metric = "accuracy" },
  },
}

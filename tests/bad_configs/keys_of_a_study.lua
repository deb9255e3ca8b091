-- expect: tests/bad_configs/keys_of_a_study.lua:8: grid: it stands in study files only: return study { base = ..., grid = ... }
-- expect: tests/bad_configs/keys_of_a_study.lua:9: base: it stands in study files only: return study { base = ..., grid = ... }
-- expect: command line: rates=1e-3,3e-3: it stands in study files only: return study { base = ..., rates = ... }
-- override: rates=1e-3,3e-3
return {
  task = "copy",
  train = { steps = 10, length = 16 },
  grid = { seed = { 1, 2 } },
  base = {},
}

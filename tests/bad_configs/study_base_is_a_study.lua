-- expect: tests/bad_configs/study_base_is_a_study.lua:3: base: expected a config: base = include "...", or base = { ... }
return study {
  base = study { base = {}, grid = { seed = { 1 } } },
  grid = { seed = { 1, 2, 3 } },
}

-- expect: tests/bad_configs/study_base_missing.lua:2: expected a config: base = include "...", or base = { ... }
return study {
  grid = { seed = { 1, 2, 3 } },
}

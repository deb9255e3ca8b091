-- expect: tests/bad_configs/study_empty_grid.lua:6: grid: holds no key
-- expect: tests/bad_configs/study_empty_grid.lua:7: zip.seed: an empty list
-- expect: tests/bad_configs/study_empty_grid.lua:8: list: an empty list
return study {
  base = { task = "copy", train = { steps = 10, length = 16 } },
  grid = {},
  zip = { seed = {} },
  list = {},
}

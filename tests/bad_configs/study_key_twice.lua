-- expect: tests/bad_configs/study_key_twice.lua:5: seed: is in this table twice, also in line 4
return study {
  base = { task = "copy", train = { steps = 10, length = 16 } },
  grid = { seed = { 1, 2 },
    seed = { 3, 4 } },
}

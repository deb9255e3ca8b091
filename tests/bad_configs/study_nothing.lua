-- expect: tests/bad_configs/study_nothing.lua:2: a study varies something: grid, list, zip or rates
return study {
  base = { task = "copy", train = { steps = 10, length = 16 } },
}

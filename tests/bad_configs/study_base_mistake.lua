-- expect: tests/bad_configs/study_base_mistake.lua:3: train.lenght: unknown key; did you mean train.length?
return study {
  base = { task = "copy", train = { steps = 10, length = 16, lenght = 3 } },
  grid = { seed = { 1, 2, 3 } },
}

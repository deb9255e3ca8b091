-- expect: tests/bad_configs/study_unknown_keys.lua:6: clams: unknown key; did you mean claims?
return study {
  base = { task = "copy", train = { steps = 10, length = 16 } },
  grid = {
    ["model.head"] = { 2, 4 } },
  clams = {},
}

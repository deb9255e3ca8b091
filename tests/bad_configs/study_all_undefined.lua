-- expect: tests/bad_configs/study_all_undefined.lua:5: model.heads: width = 64 is not a multiple of heads = 3
-- expect: tests/bad_configs/study_all_undefined.lua:6: model.heads: width = 64 is not a multiple of heads = 5
return study {
  base = { task = "copy", model = { width = 64 }, train = { steps = 10, length = 16 } },
  grid = { ["model.heads"] = { 3,
    5 } },
}

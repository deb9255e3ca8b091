-- expect: tests/bad_configs/study_key_in_two_places.lua:4: zip.seed.1: seed is varied here and in grid.seed
return study {
  base = { task = "copy", train = { steps = 10, length = 16 } },
  zip = { seed = { 1, 2 }, ["model.width"] = { 16, 32 } },
  grid = { seed = { 3, 4 } },
}

-- expect: tests/bad_configs/study_seed_twice.lua:6: grid.seed.3: 2 is there twice
return study {
  base = { task = "copy", train = { steps = 10, length = 16 } },
  grid = { ["model.encoding"] = { "nope", "rope" },
    seed = { 1, 2,
      2 } },
}

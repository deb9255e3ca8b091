-- expect: tests/bad_configs/study_zip_lengths.lua:5: zip.train.steps: 2 values beside 3 of another key
return study {
  base = { task = "copy", train = { steps = 10, length = 16 } },
  zip = { ["model.width"] = { 16, 32, 64 },
    ["train.steps"] = { 10, 20 } },
}

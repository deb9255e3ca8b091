-- expect: tests/bad_configs/file_is_a_folder.lua:3: task.file: tests: is a folder
return {
  task = { "text", file = "tests" },
  train = { stages = { { steps = 1, length = 8, file = "LICENSE" } } },
}

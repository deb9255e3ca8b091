-- expect: tests/bad_configs/file_missing.lua:3: task.file: no/such.txt: No such file or directory
return {
  task = { "text", file = "no/such.txt" },
  train = { steps = 1, length = 8 },
}

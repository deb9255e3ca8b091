-- expect: tests/bad_configs/name.lua:3: name: got "../../x"; expected 1 to 64 of A-Z a-z 0-9 . _ - with no dot first
return {
  name = "../../x",
  task = "copy",
  train = { steps = 10, length = 16 },
}

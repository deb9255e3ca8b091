-- expect: tests/bad_configs/name_control.lua:2: name: got "a?[31m"; expected 1 to 64 of A-Z a-z 0-9 . _ - with no dot first
return { name = "a\27[31m", task = "copy", train = { steps = 10, length = 16 } }

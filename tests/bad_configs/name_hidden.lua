-- expect: tests/bad_configs/name_hidden.lua:2: name: got ".hidden"; expected 1 to 64 of A-Z a-z 0-9 . _ - with no dot first
return { name = ".hidden", task = "copy", train = { steps = 10, length = 16 } }

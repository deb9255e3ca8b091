-- expect: tests/bad_configs/name of the file.lua:2: name: got "name of the file" from the file's name; expected 1 to 64 of A-Z a-z 0-9 . _ - with no dot first
return { task = "copy", train = { steps = 10, length = 16 } }

-- expect: tests/bad_configs/name_long.lua:2: name: got "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn"; expected 1 to 64 of A-Z a-z 0-9 . _ - with no dot first
return { name = ("n"):rep(65), task = "copy", train = { steps = 10, length = 16 } }

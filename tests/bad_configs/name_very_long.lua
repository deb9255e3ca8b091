-- expect: tests/bad_configs/name_very_long.lua:2: name: got "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn" (a text); expected a text of at most 255 bytes
return { name = ("n"):rep(4096), task = "copy", train = { steps = 10, length = 16 } }

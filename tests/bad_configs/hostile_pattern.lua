-- expect: tests/bad_configs/hostile_pattern.lua:2: unknown function string.find; string has only byte, char, format, len, lower, rep, reverse, sub, upper
return { name = ("a"):rep(40):find(("a-"):rep(40) .. "b") }

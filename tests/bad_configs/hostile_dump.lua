-- expect: tests/bad_configs/hostile_dump.lua:2: unknown function string.dump; string has only byte, char, format, len, lower, rep, reverse, sub, upper
return { name = string.dump(function() end) }

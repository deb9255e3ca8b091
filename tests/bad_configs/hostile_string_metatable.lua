-- expect: tests/bad_configs/hostile_string_metatable.lua:2: unknown function string.__index; string has only byte, char, format, len, lower, rep, reverse, sub, upper
local everything = ("x").__index

-- expect: tests/bad_configs/returns_nothing.lua: the file returns nothing; a config is return { ... }
local config = { task = "copy" }

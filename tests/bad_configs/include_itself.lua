-- expect: tests/bad_configs/include_itself.lua:2: include "include_itself.lua": more than 8 files deep
local base = include "include_itself.lua"
return base

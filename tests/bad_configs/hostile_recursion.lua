-- expect: tests/bad_configs/hostile_recursion.lua: needs more than 64 MiB of memory
-- on a slow machine: tests/bad_configs/hostile_recursion.lua:3: the config takes longer than 1 s
local function f() return f() + 1 end
f()

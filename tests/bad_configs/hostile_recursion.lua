-- expect: tests/bad_configs/hostile_recursion.lua: needs more than 64 MiB of memory
local function f() return f() + 1 end
f()

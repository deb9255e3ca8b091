-- expect: tests/bad_configs/hostile_memory.lua: needs more than 64 MiB of memory
-- on a slow machine: tests/bad_configs/hostile_memory.lua:4: the config takes longer than 1 s
local t = {}
while true do t[#t + 1] = ("x"):rep(100000) .. #t end

-- expect: tests/bad_configs/hostile_memory.lua: needs more than 64 MiB of memory
local t = {}
while true do t[#t + 1] = ("x"):rep(100000) .. #t end

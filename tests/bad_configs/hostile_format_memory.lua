-- expect: tests/bad_configs/hostile_format_memory.lua: needs more than 64 MiB of memory
-- on a slow machine: tests/bad_configs/hostile_format_memory.lua:6: the config takes longer than 1 s
-- on a slow machine: tests/bad_configs/hostile_format_memory.lua:7: the config takes longer than 1 s
local s = ("%s"):rep(200000)
local t = {}
for i = 1, 60000 do t[i] = s end
return { name = s:format(table.unpack(t)) }

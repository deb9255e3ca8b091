-- expect: tests/bad_configs/hostile_format_memory.lua: needs more than 64 MiB of memory
local s = ("%s"):rep(200000)
local t = {}
for i = 1, 60000 do t[i] = s end
return { name = s:format(table.unpack(t)) }

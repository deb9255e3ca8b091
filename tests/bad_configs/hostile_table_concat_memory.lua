-- expect: tests/bad_configs/hostile_table_concat_memory.lua: needs more than 64 MiB of memory
-- on a slow machine: tests/bad_configs/hostile_table_concat_memory.lua:4: the config takes longer than 1 s
-- on a slow machine: tests/bad_configs/hostile_table_concat_memory.lua:5: the config takes longer than 1 s
local t, s = {}, ("x"):rep(2 ^ 20) for i = 1, 60000 do t[i] = s end
return { name = table.concat(t) }

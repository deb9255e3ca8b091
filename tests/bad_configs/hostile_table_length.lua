-- expect: tests/bad_configs/hostile_table_length.lua: the file returns nothing; a config is return { ... }
local t = {}
for bit = 0, 60 do t[1 << bit] = 0 end
table.insert(t, 1, #t)
table.remove(t, 1)
table.sort(t)

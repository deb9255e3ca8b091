-- expect: tests/bad_configs/hostile_pairs.lua:4: a table of more than 65536 values
local t = {}
for i = 1, 70000 do t[i] = i end
for _ in pairs(t) do end

-- expect: tests/bad_configs/hostile_sort_order.lua:4: invalid order function for sorting
local t = {}
for i = 1, 60000 do t[i] = i % 7 end
table.sort(t, function() return true end)

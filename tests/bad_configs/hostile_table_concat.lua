-- expect: tests/bad_configs/hostile_table_concat.lua:2: invalid value (nil) at index 1 in table for 'concat'
return { name = table.concat({}, "x", 1, 10 ^ 15) }

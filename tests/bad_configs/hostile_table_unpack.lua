-- expect: tests/bad_configs/hostile_table_unpack.lua:2: too many results to unpack
return { table.unpack({}, 1, 10 ^ 8) }

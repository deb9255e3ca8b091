-- expect: tests/bad_configs/hostile_table_move.lua:2: table.move of more than 65536 values
table.move({}, 1, 10 ^ 15, 2)

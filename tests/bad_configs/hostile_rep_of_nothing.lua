-- expect: tests/bad_configs/hostile_rep_of_nothing.lua:2: string.rep makes more than 1048576 bytes
return { name = string.rep("", 10 ^ 15) }

-- expect: tests/bad_configs/hostile_format.lua:2: invalid conversion specification: '%999999d'
return { name = string.format("%999999d", 1) }

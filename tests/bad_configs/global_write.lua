-- expect: tests/bad_configs/global_write.lua:4: laers would be a global variable; write local laers
local layers = 2

laers = 4
return { model = { layers = layers } }

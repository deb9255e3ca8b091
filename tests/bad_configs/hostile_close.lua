-- expect: tests/bad_configs/hostile_close.lua:2: variable 'x' got a non-closable value
local x <close> = { function() while true do end end }

-- expect: tests/bad_configs/hostile_gc.lua:2: unknown name setmetatable (a text is written "setmetatable"); a config has only include, study, math, string, table, assert, error, ipairs, pairs, print, select, tonumber, tostring, type
setmetatable({}, { __gc = function() while true do end end })

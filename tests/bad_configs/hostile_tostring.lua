-- expect: tests/bad_configs/hostile_tostring.lua:2: unknown name setmetatable (a text is written "setmetatable"); a config has only include, study, math, string, table, assert, error, ipairs, pairs, print, select, tonumber, tostring, type
return { name = tostring(setmetatable({}, { __tostring = function() while true do end end })) }

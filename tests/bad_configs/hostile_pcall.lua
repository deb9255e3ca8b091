-- expect: tests/bad_configs/hostile_pcall.lua:2: unknown name pcall (a text is written "pcall"); a config has only include, study, math, string, table, assert, error, ipairs, pairs, print, select, tonumber, tostring, type
while true do pcall(function() while true do end end) end

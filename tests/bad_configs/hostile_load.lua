-- expect: tests/bad_configs/hostile_load.lua:2: unknown name load (a text is written "load"); a config has only include, study, math, string, table, assert, error, ipairs, pairs, print, select, tonumber, tostring, type
return load("return {}")()

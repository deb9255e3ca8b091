-- expect: tests/bad_configs/hostile_debug.lua:2: unknown name debug (a text is written "debug"); a config has only include, study, math, string, table, assert, error, ipairs, pairs, print, select, tonumber, tostring, type
debug.sethook()

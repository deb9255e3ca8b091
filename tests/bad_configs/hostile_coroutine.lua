-- expect: tests/bad_configs/hostile_coroutine.lua:2: unknown name coroutine (a text is written "coroutine"); a config has only include, study, math, string, table, assert, error, ipairs, pairs, print, select, tonumber, tostring, type
coroutine.wrap(function() while true do end end)()

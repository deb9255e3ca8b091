-- expect: tests/bad_configs/hostile_io.lua:2: unknown name io (a text is written "io"); a config has only include, study, math, string, table, assert, error, ipairs, pairs, print, select, tonumber, tostring, type
return { name = io.open("/etc/passwd"):read("a") }

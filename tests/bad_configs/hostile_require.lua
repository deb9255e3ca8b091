-- expect: tests/bad_configs/hostile_require.lua:2: unknown name require (a text is written "require"); a config has only include, study, math, string, table, assert, error, ipairs, pairs, print, select, tonumber, tostring, type
require "os"

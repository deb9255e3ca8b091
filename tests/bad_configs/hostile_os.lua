-- expect: tests/bad_configs/hostile_os.lua:2: unknown name os (a text is written "os"); a config has only include, study, math, string, table, assert, error, ipairs, pairs, print, select, tonumber, tostring, type
os.execute("touch /tmp/written_by_a_config")

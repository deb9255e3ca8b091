-- expect: tests/bad_configs/global_read.lua:4: unknown name rope (a text is written "rope"); a config has only include, study, math, string, table, assert, error, ipairs, pairs, print, select, tonumber, tostring, type
return {
  task = "copy",
  model = { encoding = rope },
}

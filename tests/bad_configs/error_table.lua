-- expect: tests/bad_configs/error_table.lua:3: an error that is not a text
local function fail()
  error { code = 3 }
end
fail()

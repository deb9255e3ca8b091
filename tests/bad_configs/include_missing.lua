-- expect: tests/bad_configs/include_missing.lua:2: include "base.lua": No such file or directory
return include "base.lua"

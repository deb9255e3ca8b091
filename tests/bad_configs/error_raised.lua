-- expect: tests/bad_configs/error_raised.lua:3: width must be a multiple of 8
local width = 100
assert(width % 8 == 0, "width must be a multiple of 8")
return {}

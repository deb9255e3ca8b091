-- expect: tests/bad_configs/hostile_random.lua:2: unknown function math.random; math has only abs, acos, asin, atan, ceil, cos, deg, exp, floor, fmod, huge, log, max, min, maxinteger, mininteger, modf, pi, rad, sin, sqrt, tan, tointeger, type, ult
return { seed = math.random(1000) }

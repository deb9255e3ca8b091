-- expect: tests/bad_configs/hostile_rep.lua:2: string.rep makes more than 1048576 bytes
return { name = ("x"):rep(2 ^ 40) }

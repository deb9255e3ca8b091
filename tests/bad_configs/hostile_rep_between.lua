-- expect: tests/bad_configs/hostile_rep_between.lua:2: string.rep makes more than 1048576 bytes
return { name = string.rep("", 2 ^ 20, ("x"):rep(2 ^ 20)) }

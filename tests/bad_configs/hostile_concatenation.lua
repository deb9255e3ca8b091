-- expect: tests/bad_configs/hostile_concatenation.lua:4: the config takes longer than 1 s
local s = ("x"):rep(2 ^ 20)
for _ = 1, 3 do s = s .. s end
while true do local t = s .. s end

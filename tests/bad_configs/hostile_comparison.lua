-- expect: tests/bad_configs/hostile_comparison.lua:5: the config takes longer than 1 s
local s = ("x"):rep(2 ^ 20)
for _ = 1, 4 do s = s .. s end
local t = s .. "y"
while true do local less = s < t end
-- ThreadSanitizer keeps signals back until something that it sees is called: here nothing is

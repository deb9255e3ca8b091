-- expect: tests/bad_configs/hostile_doubling.lua: needs more than 64 MiB of memory
-- on a slow machine: tests/bad_configs/hostile_doubling.lua:4: the config takes longer than 1 s
local s = "x"
while true do s = s .. s end

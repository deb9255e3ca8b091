-- expect: tests/bad_configs/hostile_doubling.lua: needs more than 64 MiB of memory
local s = "x"
while true do s = s .. s end

-- expect: tests/bad_configs/hostile_loop.lua:2: the config takes longer than 1 s
while true do end

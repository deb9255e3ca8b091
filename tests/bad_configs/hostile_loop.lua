-- expect: tests/bad_configs/hostile_loop.lua:2: the config takes longer than 1 s
while true do end
-- ThreadSanitizer keeps signals back until something that it sees is called: here nothing is

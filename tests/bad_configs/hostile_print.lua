-- expect: tests/bad_configs/hostile_print.lua:2: prints more than 65536 bytes
print(("silence "):rep(8193))

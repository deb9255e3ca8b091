-- expect: tests/bad_configs/hostile_error_text.lua:2: first?second ?[31mred
error("first\nsecond \27[31mred")

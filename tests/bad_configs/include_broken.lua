-- expect: tests/bad_configs/parts/broken.lua:2: unexpected symbol near '}'
return { model = include "parts/broken.lua" }

-- expect: tests/bad_configs/returns_a_function.lua:2: the file returns a function; a config is return { ... }
return function() return {} end

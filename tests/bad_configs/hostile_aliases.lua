-- expect: tests/bad_configs/hostile_aliases.lua:7: model.model: unknown key; did you mean model?
-- expect: tests/bad_configs/hostile_aliases.lua:9: task: missing; one of <tasks>
-- expect: tests/bad_configs/hostile_aliases.lua:9: train.length: missing; expected an integer from 1 to 16777216, a list of them, or { from = a, to = b }
-- expect: tests/bad_configs/hostile_aliases.lua:9: train.steps: missing; expected an integer from 1 to 1000000000
local a, b = {}, {}
a = b b = a a = b b = a a = b b = a a = b b = a a = b b = a a = b b = a a = b b = a
a.model = a
b.model = b
return a

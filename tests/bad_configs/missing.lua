-- expect: tests/bad_configs/missing.lua:6: task: missing; one of <tasks>
-- expect: tests/bad_configs/missing.lua:6: train.length: missing; expected an integer from 1 to 16777216, a list of them, or { from = a, to = b }
-- expect: tests/bad_configs/missing.lua:6: train.steps: missing; expected an integer from 1 to 1000000000
local config = {}

return config

-- expect: tests/bad_configs/hostile_cycle.lua:9: train.length: missing; expected an integer from 1 to 16777216, a list of them, or { from = a, to = b }
-- expect: tests/bad_configs/hostile_cycle.lua:9: train.model: unknown key; did you mean model?
-- expect: tests/bad_configs/hostile_cycle.lua:9: train.steps: missing; expected an integer from 1 to 1000000000
-- expect: tests/bad_configs/hostile_cycle.lua:9: train.train: unknown key; did you mean train?
-- expect: tests/bad_configs/hostile_cycle.lua:10: model.model: unknown key; did you mean model?
-- expect: tests/bad_configs/hostile_cycle.lua:10: model.train: unknown key; did you mean train?
-- expect: tests/bad_configs/hostile_cycle.lua:10: task: missing; one of <tasks>
local config = {}
config.model, config.train = config, config
return config

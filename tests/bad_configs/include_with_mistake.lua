-- expect: tests/bad_configs/include_with_mistake.lua:5: model.encoding: no kind is called "roap"; did you mean rope? There are <encodings>
-- expect: tests/bad_configs/include_with_mistake.lua:6: evaluate.length: unknown key; did you mean evaluate.lengths?
-- expect: tests/bad_configs/parts/config.lua:7: train.warm_up: unknown key; did you mean train.warmup?
local config = include "parts/config.lua"
config.model.encoding = "roap"
config.evaluate = { length = 64 }
return config

-- The run of rope_2k.lua without any positional encoding: the causal mask alone tells the order.
local config = include "rope_2k.lua"
config.name = "nope_2k"
config.model.encoding = "nope"
return config

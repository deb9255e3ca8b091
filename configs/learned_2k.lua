-- The run of rope_2k.lua with a learned table of 2048 positions. Past its last row the table says
-- nothing: the evaluations at 4096 and 8192 are written as not defined. past_end = "clamp" or
-- "interpolate" would define them.
local config = include "rope_2k.lua"
config.name = "learned_2k"
config.model.encoding = { "learned", positions = 2048, past_end = "error" }
return config

-- The run of rope_2k.lua with the sinusoids of Vaswani et al. added to the token embeddings.
local config = include "rope_2k.lua"
config.name = "sinusoidal_2k"
config.model.encoding = "sinusoidal"
return config

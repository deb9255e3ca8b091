-- Copy with a bias of one's own: ALiBi's slopes, but falling with the logarithm of the distance.
local config = include "quickstart.lua"
local heads = config.model.heads
config.name = "custom_bias"
config.model.encoding = { "custom",
  bias = function(head, distance)                         -- heads from 1, distances from 0
    local slope = 2 ^ (-8 * head / heads)
    return -8 * slope * math.log(1 + distance)
  end,
}
return config

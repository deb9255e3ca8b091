-- A task of one's own: add the last two digits, modulo ten.
--
-- The answer needs the token before, so a model without order cannot give it. Seconds on two cores.
local digits = 10

local function generate(rng, length)
  local tokens, targets, scored, distance = {}, {}, {}, {}
  for t = 1, length do
    tokens[t] = rng:below(digits)                         -- 0 to 9
    scored[t] = t > 1
    targets[t] = t > 1 and (tokens[t] + tokens[t - 1]) % digits or 0
    distance[t] = t > 1 and 1 or 0                        -- how far back the answer looks
  end
  return tokens, targets, scored, distance
end

return {
  task  = { "custom", vocabulary = digits, generate = generate },
  model = { layers = 2, width = 64, heads = 4, encoding = "rope" },
  train = { steps = 400, length = { 16, 24, 32 }, tokens = 2048, learning_rate = 3e-3,
            decay = "cosine" },
  evaluate = { lengths = { 16, 32, 64, 128 }, examples = 64 },
}

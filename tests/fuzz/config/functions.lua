-- A run whose task, bias and positions are functions of this file; tests/test_run.sh puts a fault
-- where the comment says.
return {
  name = "functions",
  task = { "custom", vocabulary = 9, generate = function(rng, length)
    local tokens, targets, scored = {}, {}, {}
    for t = 1, length do
      tokens[t] = rng:below(9)
      targets[t] = tokens[t - 1] or 0
      scored[t] = t > 1
    end
    -- fault
    return tokens, targets, scored
  end },
  model = {
    layers = 1, width = 16, heads = 2,
    positions = { "custom", position = function(index) return index // 2 end },
    encoding = { "custom",
      bias = function(head, distance, length) return -distance / head / length end },
  },
  train = { steps = 600, length = { 8, 16 }, tokens = 64, checkpoint_every = 200 },
  evaluate = { lengths = { 8, 32 }, examples = 4, every = 200 },
}

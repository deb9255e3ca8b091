-- expect: tests/bad_configs/generate_counts_its_calls.lua:4: task.generate: gives another example when it is called again with the same random numbers; it may not keep anything from call to call
local calls = 0
return {
  task = { "custom", vocabulary = 10, generate = function(rng, length)
    local tokens, targets, scored = {}, {}, {}
    for t = 1, length do tokens[t], targets[t], scored[t] = rng:below(10), 0, t == length end
    calls = calls + 1
    tokens[1] = calls
    return tokens, targets, scored
  end },
  train = { steps = 10, length = 16 },
}

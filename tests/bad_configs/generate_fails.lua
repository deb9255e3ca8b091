-- expect: tests/bad_configs/generate_fails.lua:6: task.generate: length 16: no example today
return {
  task = { "custom", vocabulary = 10, generate = function(rng, length)
    local tokens, targets, scored = {}, {}, {}
    for t = 1, length do tokens[t], targets[t], scored[t] = rng:below(10), 0, t == length end
    error("no example today")
    return tokens, targets, scored
  end },
  train = { steps = 10, length = 16 },
}

-- expect: tests/bad_configs/generate_below_nothing.lua:6: task.generate: length 16: bad argument #1 to 'below' (nothing lies below it)
return {
  task = { "custom", vocabulary = 10, generate = function(rng, length)
    local tokens, targets, scored = {}, {}, {}
    for t = 1, length do tokens[t], targets[t], scored[t] = rng:below(10), 0, t == length end
    rng:below(0)
    return tokens, targets, scored
  end },
  train = { steps = 10, length = 16 },
}

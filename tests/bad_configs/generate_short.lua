-- expect: tests/bad_configs/generate_short.lua:3: task.generate: length 16: targets has 15 values; expected 16, one a token
return {
  task = { "custom", vocabulary = 10, generate = function(rng, length)
    local tokens, targets, scored = {}, {}, {}
    for t = 1, length do tokens[t], targets[t], scored[t] = rng:below(10), 0, t == length end
    targets[16] = nil
    return tokens, targets, scored
  end },
  train = { steps = 10, length = 16 },
}

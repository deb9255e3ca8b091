-- expect: tests/bad_configs/generate_foreign_token.lua:3: task.generate: length 16: tokens[3] is 10; expected an integer from 0 to 9
return {
  task = { "custom", vocabulary = 10, generate = function(rng, length)
    local tokens, targets, scored = {}, {}, {}
    for t = 1, length do tokens[t], targets[t], scored[t] = rng:below(10), 0, t == length end
    tokens[3] = 10
    return tokens, targets, scored
  end },
  train = { steps = 10, length = 16 },
}

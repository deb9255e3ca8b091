-- expect: tests/bad_configs/generate_distance.lua:3: task.generate: length 16: distance[1] is 1; expected an integer from 0 to 0
return {
  task = { "custom", vocabulary = 10, generate = function(rng, length)
    local tokens, targets, scored = {}, {}, {}
    for t = 1, length do tokens[t], targets[t], scored[t] = rng:below(10), 0, t == length end
    for t = 1, 16 do targets[t] = 1 end
    do return tokens, targets, scored, targets end
    return tokens, targets, scored
  end },
  train = { steps = 10, length = 16 },
}

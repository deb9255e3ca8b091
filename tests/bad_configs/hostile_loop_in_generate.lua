-- expect: tests/bad_configs/hostile_loop_in_generate.lua:6: task.generate: length 16: it takes longer than 1 s
return {
  task = { "custom", vocabulary = 10, generate = function(rng, length)
    local tokens, targets, scored = {}, {}, {}
    for t = 1, length do tokens[t], targets[t], scored[t] = rng:below(10), 0, t == length end
    while true do end
    return tokens, targets, scored
  end },
  train = { steps = 10, length = 16 },
}

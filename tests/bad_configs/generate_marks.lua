-- expect: tests/bad_configs/generate_marks.lua:3: task.generate: length 16: scored[2] is 2; expected true, false, 0 to 1
return {
  task = { "custom", vocabulary = 10, generate = function(rng, length)
    local tokens, targets, scored = {}, {}, {}
    for t = 1, length do tokens[t], targets[t], scored[t] = rng:below(10), 0, t == length end
    scored[2] = 2
    return tokens, targets, scored
  end },
  train = { steps = 10, length = 16 },
}

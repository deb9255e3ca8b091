-- expect: tests/bad_configs/hostile_memory_in_generate.lua: task.generate: length 16: needs more than 64 MiB of memory
-- on a slow machine: tests/bad_configs/hostile_memory_in_generate.lua:7: task.generate: length 16: it takes longer than 1 s
return {
  task = { "custom", vocabulary = 10, generate = function(rng, length)
    local tokens, targets, scored = {}, {}, {}
    for t = 1, length do tokens[t], targets[t], scored[t] = rng:below(10), 0, t == length end
    for i = 1, math.huge do tokens[i] = {} end
    return tokens, targets, scored
  end },
  train = { steps = 10, length = 16 },
}

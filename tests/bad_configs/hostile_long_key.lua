-- expect: tests/bad_configs/hostile_long_key.lua:2: kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk...: unknown key; there are name, seed, init_seed, data_seed, task, model, train, evaluate
return { task = "copy", [("k"):rep(2 ^ 20)] = 1, train = { steps = 10, length = 16 } }

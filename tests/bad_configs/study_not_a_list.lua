-- expect: tests/bad_configs/study_not_a_list.lua:6: grid.model.encoding: got a table; expected a list of values: { 1, 2, 3 }, or { { "rope", base = 500 } }
-- expect: tests/bad_configs/study_not_a_list.lua:7: grid.seed: got 3; expected a list of values: { 1, 2, 3 }
return study {
  base = { task = "copy", train = { steps = 10, length = 16 } },
  grid = {
    ["model.encoding"] = { "rope", base = 500 },
    seed = 3 },
}

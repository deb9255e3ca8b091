-- expect: tests/bad_configs/kind_name.lua:5: task: no kind is called "juggling"; there are <tasks>
-- expect: tests/bad_configs/kind_name.lua:7: model.encoding: no kind is called "ropee"; did you mean rope? There are <encodings>
-- expect: tests/bad_configs/kind_name.lua:8: model.positions: got a table; expected a name, or { name, option = value }
return {
  task = "juggling",
  model = {
    encoding = "ropee",
    positions = { N = 64 },
  },
  train = { stages = { { steps = 10, length = 16, pairs = 3 } } },
}

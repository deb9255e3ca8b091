-- expect: tests/bad_configs/unknown_value_without_key.lua:6: task.2: 7 stands there without a name
-- expect: tests/bad_configs/unknown_value_without_key.lua:7: model.1: 3 stands there without a name
-- expect: tests/bad_configs/unknown_value_without_key.lua:9: 1: "rope" (a text) stands there without a name
-- expect: tests/bad_configs/unknown_value_without_key.lua:10: 2.5: 1 stands there without a name
return {
  task = { "copy", 7 },
  model = { 3 },
  train = { steps = 10, length = 16 },
  "rope",
  [2.5] = 1,
}

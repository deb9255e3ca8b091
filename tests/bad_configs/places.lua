-- expect: tests/bad_configs/places.lua:11: model.heads: got 0; expected an integer from 1 to 1024
-- expect: tests/bad_configs/places.lua:12: model.width: got 100.5; expected an integer from 1 to 1048576
-- expect: tests/bad_configs/places.lua:17: train.stages.1.pears: unknown key; there are steps, length, batch, alphabet, repeats, slots
-- expect: tests/bad_configs/places.lua:18: train.stages.2.pears: unknown key; there are steps, length, batch, alphabet, repeats, slots
-- expect: tests/bad_configs/places.lua:18: train.stages.2.steps: got 0; expected an integer from 1 to 1000000000
-- expect: tests/bad_configs/places.lua:19: train.warmup: got -1; expected an integer from 0 to 1000000000
-- expect: tests/bad_configs/places.lua:23: evaluate.every: got -3; expected an integer from 0 to 1000000000
-- expect: tests/bad_configs/places.lua:23: evaluate.lengths.2: got 0; expected an integer from 1 to 16777216
-- expect: tests/bad_configs/places.lua:24: evaluate.exampels: unknown key; did you mean evaluate.examples?
local function stage(steps) return { steps = steps, length = 16, pears = 4 } end
local model <const> = { layers = 2, ["heads"] = 0 }
model.width = 100.5
local train = {}
for i = 1, 2 do
  local unused = { steps = 7 }
end
train.stages = { stage(10),
  stage(0) }
train.warmup --[[ = 3 ]] = -1
return {
  task = "copy", [ [[model]] ] = model,
  evaluate = { lengths = { 16,
    0 }, every = -3, examples = (function() local examples = { 1, 2 } return examples[1] end)(),
    exampels = 3 },
  train = train,
}

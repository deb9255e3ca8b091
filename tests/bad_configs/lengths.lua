-- expect: tests/bad_configs/lengths.lua:7: evaluate.lengths.3: got 16777217; expected an integer from 1 to 16777216
-- expect: tests/bad_configs/lengths.lua:7: evaluate.lengths.4: got "64" (a text); expected an integer from 1 to 16777216
return {
  task = "copy",
  train = { steps = 10, length = 16 },
  evaluate = {
    lengths = { 32, 16, 2 ^ 24 + 1, "64" },
  },
}

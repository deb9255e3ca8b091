-- Two encodings and two seeds on the copy task: what a study looks like, in half a minute
return study {
  base = include "../configs/quickstart.lua", -- a config: a file, or { ... }
  grid = { -- every value with every other
    ["model.encoding"] = { "rope", "nope" }, -- or { "rope", base = 500 }
    seed = { 1, 2 },
  },
  claims = { -- what is expected of the results
    { "rotary positions copy what is as long as in training, and nothing longer",
      left = "rope", length = { 1.5, 2 }, relation = "<", value = 0.5, trained = 0.95 },
    { "and so does a model without positions",
      left = "nope", length = { 1.5, 2 }, relation = "<", value = 0.5, trained = 0.95 },
  },
}

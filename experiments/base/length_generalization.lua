-- Which encoding generalises in length, on which task? Small decoders are trained at mixed lengths
-- up to `longest` tokens and asked at up to four times that. function(scale) → what study { }
-- takes; the files length_generalization*.lua name the scales.
--
-- The claims are those of Kazemnejad et al. 2023 (arXiv 2305.19466) and Jelassi et al. 2024
-- (arXiv 2402.01032), stated for each encoding and multiple of the trained length; that fire does
-- not collapse is an expectation of ours. Their "rotary" turns a quarter of each head: "rope 25 %".

local scales = {
  -- strings of up to 11 symbols: half a minute a run on one core, two hours of one in all
  default = { layers = 3, width = 64, heads = 4, tokens = 1024, longest = 24, steps = 1,
              seeds = 5 },
  -- two tasks, five encodings, three seeds
  quick = { layers = 3, width = 64, heads = 4, tokens = 1024, longest = 24, steps = 1, seeds = 3,
            tasks = { "copy", "repeat_token" },
            encodings = { "nope", "sinusoidal", "rope", "alibi", "hard_alibi" } },
  -- less depth, more channels and tokens a step: both change the picture
  wide = { layers = 2, width = 128, heads = 4, tokens = 2048, longest = 24, steps = 0.5,
           seeds = 5 },
  -- strings of up to 31 symbols and a deeper model: days on a laptop
  paper = { layers = 6, width = 128, heads = 8, tokens = 4096, longest = 64, steps = 3, seeds = 5 },
}

-- The entries of a list whose name is wanted; all of them without `names`.
local function choose(list, names)
  local wanted, chosen = {}, {}
  for _, name in ipairs(names or {}) do wanted[name] = true end
  for _, entry in ipairs(list) do
    if not names or wanted[entry.name] then chosen[#chosen + 1] = entry end
  end
  return chosen
end

local function lengths(from, to)
  local list = {}
  for n = from, to, 2 do list[#list + 1] = n end
  return list
end

return function(scale)
  local s = scales[scale]
  local plain, random = "plain", { "randomized", N = 4 * s.longest }

  -- steps that bring most encodings to 99 % of the sequences at the trained lengths (default scale)
  local tasks = choose({
    { name = "copy", task = { "copy", alphabet = 16 }, steps = 2800, from = 4 },
    { name = "reverse", task = { "reverse", alphabet = 16 }, steps = 2200, from = 4 },
    { name = "repeat_token", task = "repeat_token", steps = 1000, from = 4 },
    { name = "recall", task = { "recall", pairs = 2, keys = 16, values = 16 }, steps = 1000,
      from = 8 },
  }, s.tasks)
  local zip = { task = {}, ["train.steps"] = {}, ["train.length"] = {} }
  for i, t in ipairs(tasks) do
    zip.task[i], zip["train.steps"][i] = t.task, t.steps * s.steps // 1
    zip["train.length"][i] = lengths(t.from, s.longest)
  end

  local encodings = choose({
    { name = "nope", kind = "nope" },
    { name = "sinusoidal", kind = { "sinusoidal", scale = 1 } }, -- as large as a token's embedding
    { name = "learned", kind = "learned" },
    { name = "rope", kind = "rope" },
    { name = "rope 25 %", kind = { "rope", fraction = 0.25 } },
    { name = "rope, random", kind = "rope", positions = random },
    { name = "alibi", kind = "alibi" },
    { name = "t5", kind = { "t5", buckets = 16, max_distance = 64 } },
    { name = "kerple", kind = "kerple" },
    { name = "fire", kind = "fire" },
    { name = "hard_alibi", kind = { "hard_alibi", masked = s.heads - 1 } },
  }, s.encodings)
  local list = {}
  for i, e in ipairs(encodings) do
    list[i] = { ["model.encoding"] = e.kind, ["model.positions"] = e.positions or plain,
                label = e.name }
  end
  local seeds = {}
  for seed = 1, s.seeds do seeds[seed] = seed end

  -- a claim about encodings that this scale has not is left out
  local function has(name) return #choose(encodings, { name }) == 1 end
  local function has_task(name) return #choose(tasks, { name }) == 1 end
  local function of(name)
    local keys = { ["model.encoding"] = name, ["model.positions"] = "plain" }
    if name == "rope" then keys["model.encoding.fraction"] = 1 end
    if name == "rope 25 %" then
      keys["model.encoding"], keys["model.encoding.fraction"] = "rope", 0.25
    end
    return keys
  end
  local claims = {}
  local function ahead(task, left, rights, multiples)
    for _, right in ipairs(rights) do
      if has_task(task) and has(left) and has(right) then
        claims[#claims + 1] = { task .. ": " .. left .. " ahead of " .. right, task = task,
                                left = of(left), right = of(right), length = multiples }
      end
    end
  end
  local function reaches(task, names, relation, value, multiple, text)
    for _, name in ipairs(names) do
      if has_task(task) and has(name) then
        claims[#claims + 1] = { task .. ": " .. name .. text, task = task, left = of(name),
                                relation = relation, value = value, length = multiple }
      end
    end
  end
  -- counting: no encoding is the best encoding
  ahead("repeat_token", "nope", { "t5", "alibi", "rope", "rope 25 %", "sinusoidal" },
        { 1.25, 1.5, 2 })
  ahead("repeat_token", "t5", { "alibi" }, { 2 })
  -- copying just past the trained length
  for _, left in ipairs { "t5", "alibi", "nope" } do
    ahead("copy", left, { "rope", "sinusoidal" }, { 1.25 })
  end
  -- at twice the length their encodings collapse, the two later ones do not
  reaches("copy", { "nope", "t5", "alibi", "rope", "rope 25 %", "sinusoidal" }, "<", 0.1, 2,
          " collapses")
  reaches("copy", { "hard_alibi", "fire" }, ">", 0.1, 2, " does not collapse")
  ahead("reverse", "nope", { "t5", "alibi", "rope", "rope 25 %", "sinusoidal" }, { 1.25 })

  return {
    name = "length_generalization" .. (scale == "default" and "" or "_" .. scale),
    base = {
      model = { layers = s.layers, width = s.width, heads = s.heads, init = "unit" },
      train = { tokens = s.tokens, learning_rate = 3e-3, decay = "linear", beta2 = 0.98,
                weight_decay = 0, checkpoint_every = 1000 }, -- one is a seventh of a second
      evaluate = { lengths = { s.longest // 2, s.longest, s.longest * 5 // 4, s.longest * 3 // 2,
                               s.longest * 2, s.longest * 4 },
                   examples = 256 },
    },
    list = list,
    zip = zip,
    grid = { seed = seeds },
    claims = claims,
  }
end

-- expect: tests/bad_configs/study_unknown_cell_keys.lua:7: model.head: unknown key; did you mean model.heads?
-- expect: tests/bad_configs/study_unknown_cell_keys.lua:8: model.encoding: no kind is called "rop"; did you mean rope? There are <encodings>
return study {
  base = { task = "copy", train = { steps = 10, length = 16 } },
  -- every cell has the first mistake, some the second: each is told once
  grid = {
    ["model.head"] = { 2, 4 },
    ["model.encoding"] = { "rop", "nope" } },
}

-- expect: tests/bad_configs/bidirectional_encoding.lua:4: model.causal: xpos needs a causal model: it multiplies scores by decay^distance, which grows without bound for keys after the query
return {
  task = "mlm_grammar",
  model = { causal = false, encoding = "xpos" },
  train = { steps = 10, length = 16 },
}

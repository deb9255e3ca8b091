return {
  task = "copy",
  model = { width = 64, heads = 4 },
  train = {
    steps = 10,
    length = 16,
    warm_up = 5,
  },
}

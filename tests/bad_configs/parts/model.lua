return {
  layers = 2,
  head = 4,
}

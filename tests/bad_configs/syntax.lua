-- expect: tests/bad_configs/syntax.lua:4: '}' expected (to close '{' at line 2) near 'train'
return {
  task = "copy"
  train = { steps = 10, length = 16 },
}

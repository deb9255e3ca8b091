/* Every Check suite: one line each, SUITE(name) needs `Suite *suite_name(void)` in
   tests/test_name.c. */
SUITE(rng)
SUITE(tasks)
SUITE(config)
SUITE(store)
SUITE(optim)
SUITE(report)
SUITE(records)
SUITE(ops)
SUITE(encodings)
SUITE(attention)
SUITE(model)
SUITE(run)

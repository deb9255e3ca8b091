/* Every encoding, in the order of tables and plots. One line each: ENCODING(name) needs `const
   Encoding encoding_name` in encodings/name.c. */
ENCODING(nope)
ENCODING(sinusoidal)
ENCODING(learned)
ENCODING(rope)
ENCODING(shaw)
ENCODING(transformer_xl)
ENCODING(deberta)
ENCODING(cope)
ENCODING(fox)
ENCODING(stick_breaking)

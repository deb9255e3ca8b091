/* No positional encoding. A causal model still learns where it is from the number of tokens that
   it sees (Haviv et al. 2022, arXiv 2203.16634; Kazemnejad et al. 2023, arXiv 2305.19466). */
#include "encodings/encoding.h"

static const Option options[] = {{0}};

/* Without a mask and without positions, attention cannot tell the order of tokens at all. */
const Encoding encoding_nope = {
    .name = "nope",
    .summary = "no positional encoding: order enters through the causal mask alone",
    .source = "Haviv et al. 2022 (arXiv 2203.16634); Kazemnejad et al. 2023 (arXiv 2305.19466)",
    .options = options,
};

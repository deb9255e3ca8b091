/* Hard-ALiBi (Jelassi et al. 2024, arXiv 2402.01032, section 3.2): the first `masked` heads see the
   last tokens alone, head h (from 0) the last h + 1 of them, itself included; the other heads have
   no positional encoding. Masked heads can hash the last few tokens, the others find the same hash
   anywhere. */
#include "encodings/encoding.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct {
    int64_t masked;
} HardAlibiOptions;

static const Option options[] = {
    {.name = "masked", .type = OPTION_INTEGER, .offset = offsetof(HardAlibiOptions, masked),
     .fallback = -1, .text = "half of the heads", .min = -1, .max = 1024,
     .doc = "heads that see the last 1, 2, 3 ... tokens alone (paper: 8 of 16); -1: half"},
    {0}};

static int masked(const EncodingShape *shape) {
    const int64_t given = ((const HardAlibiOptions *)shape->options)->masked;
    return given < 0 ? shape->heads / 2 : (int)given;
}

static const char *refuse(const EncodingShape *shape) {
    static char reason[96];
    if (masked(shape) <= shape->heads) return NULL;
    snprintf(reason, sizeof reason, "masked = %d is more than the model's %d heads", masked(shape),
             shape->heads);
    return reason;
}

static size_t window(const EncodingShape *shape, int head) {
    return head < masked(shape) ? (size_t)head + 1 : SIZE_MAX;
}

static void tables(const EncodingShape *shape, const real *const *const *parameters, size_t length,
                   PositionTableSink sink, void *to) {
    (void)parameters, (void)length;
    const size_t heads = (size_t)shape->heads;
    double *windows = ALLOCATE(heads, double);
    for (int head = 0; head < masked(shape); head++)
        windows[head] = (double)window(shape, head);
    sink(to, &(PositionTable){.name = "window",
                              .rank = 1,
                              .dims = {heads},
                              .axes = {"head"},
                              .values = windows,
                              .kind = "fixed",
                              .convention = "a key is seen at distance < window; 0: at every one",
                              .unit = "token",
                              .counted = -1});
    free(windows);
}

const Encoding encoding_hard_alibi = {
    .name = "hard_alibi",
    .summary = "some heads see the last 1, 2, 3 ... tokens alone, the others have no encoding",
    .source = "Jelassi et al. 2024 (arXiv 2402.01032), section 3.2",
    .options = options,
    .options_size = sizeof(HardAlibiOptions),
    .needs_causal = "has windows that hold the last tokens before the query",
    .refuse = refuse,
    .window = window,
    .tables = tables,
};

/* linear: attention whose weights are products of features, against numpy
   (scripts/golden/linear.py), against weights written out in double here, forward and backward, and
   against what can be said by hand. Causality, padding, batches, threads and gradients of whole
   models are held by the suites attention and model, which have models of linear attention among
   theirs. */
#include "tests/attention_probe.h"
#include "tests/golden.h"
#include "tests/gradient_check.h"
#include "tests/hook_encodings.h"
#include "tests/tolerance.h"
#include "tests/vectors/linear.h"

#include "src/gemm.h"
#include "src/model/engine.h"

#include <check.h>
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

START_TEST(paper) { golden_compare(&linear_cases[_i]); }
END_TEST

/* ---- weights written out --------------------------------------------------------------------- */

/* One head: inputs, and what equation 19 or its other reading makes of them, in double. */
typedef struct {
    size_t length, d;
    bool causal, turns;
    LinearOptions options;
    const int32_t *segments;
    double *q, *k, *v, *positions, *dout; /* dout: the gradient of o */
    double *o, *dq, *dk, *dv;
} Reference;

static double feature(const Reference *r, double x, double *slope) {
    const double e = exp(x);
    *slope = r->options.feature_map == FEATURE_ELU && x > 0 ? 1 : e;
    return r->options.feature_map == FEATURE_ELU && x > 0 ? x + 1 : e;
}

/* R x at a position, or its transpose: channels c and c + d/2 turn by position 10000^(-2c/d). */
static void turn(const Reference *r, double *x, double position, bool back) {
    for (size_t c = 0; r->turns && c < r->d / 2; c++) {
        const double angle = position * pow(10000, -2.0 * (double)c / (double)r->d);
        const double cosine = cos(angle), sine = back ? -sin(angle) : sin(angle);
        const double a = x[c], b = x[c + r->d / 2];
        x[c] = a * cosine - b * sine;
        x[c + r->d / 2] = a * sine + b * cosine;
    }
}

/* Features [length, d], the same as the numerator sees them, and slopes of the map. */
typedef struct {
    double *below, *above, *slope;
} Features;

static Features features_of(const Reference *r, const double *x) {
    const size_t size = r->length * r->d;
    Features f = {ALLOCATE(size, double), ALLOCATE(size, double), ALLOCATE(size, double)};
    memcpy(f.below, x, size * sizeof *x);
    for (size_t t = 0; t < r->length; t++) {
        double *row = f.below + t * r->d;
        if (r->options.rotate == ROTATE_BEFORE) turn(r, row, r->positions[t], false);
        for (size_t c = 0; c < r->d; c++) row[c] = feature(r, row[c], &f.slope[t * r->d + c]);
        memcpy(f.above + t * r->d, row, r->d * sizeof *row);
        if (r->options.rotate == ROTATE_AFTER)
            turn(r, f.above + t * r->d, r->positions[t], false);
    }
    return f;
}

/* Gradients of both kinds of features → of x. */
static void features_gradient(const Reference *r, const Features *f, double *dbelow, double *dabove,
                              double *dx) {
    for (size_t t = 0; t < r->length; t++) {
        double *row = dabove + t * r->d;
        if (r->options.rotate == ROTATE_AFTER) turn(r, row, r->positions[t], true);
        for (size_t c = 0; c < r->d; c++)
            row[c] = (row[c] + dbelow[t * r->d + c]) * f->slope[t * r->d + c];
        if (r->options.rotate == ROTATE_BEFORE) turn(r, row, r->positions[t], true);
        memcpy(dx + t * r->d, row, r->d * sizeof *row);
    }
    free(f->below);
    free(f->above);
    free(f->slope);
    free(dbelow);
    free(dabove);
}

static bool visible(const Reference *r, size_t i, size_t j) {
    if (r->causal && j > i) return false;
    return !r->segments || (r->segments[i] >= 0 && r->segments[i] == r->segments[j]);
}

static double dot(const double *a, const double *b, size_t n) {
    double sum = 0;
    for (size_t c = 0; c < n; c++) sum += a[c] * b[c];
    return sum;
}

static void add(double *to, double factor, const double *from, size_t n) {
    for (size_t c = 0; c < n; c++) to[c] += factor * from[c];
}

static void reference(Reference *r) {
    const size_t d = r->d, size = r->length * d;
    Features q = features_of(r, r->q), k = features_of(r, r->k);
    double *dq[2], *dk[2];
    for (int i = 0; i < 2; i++) dq[i] = ALLOCATE(size, double), dk[i] = ALLOCATE(size, double);
    memset(r->o, 0, size * sizeof(double));
    memset(r->dv, 0, size * sizeof(double));
    for (size_t i = 0; i < r->length; i++) {
        const double *q_below = q.below + i * d, *q_above = q.above + i * d;
        const double *dout = r->dout + i * d;
        double below = 0;
        for (size_t j = 0; j < r->length; j++)
            if (visible(r, i, j)) below += dot(q_below, k.below + j * d, d);
        for (size_t j = 0; j < r->length; j++)
            if (visible(r, i, j))
                add(r->o + i * d, dot(q_above, k.above + j * d, d) / below, r->v + j * d, d);
        const double dbelow = below > 0 ? -dot(dout, r->o + i * d, d) / below : 0;
        for (size_t j = 0; j < r->length; j++) {
            if (!visible(r, i, j)) continue;
            const double dabove = dot(dout, r->v + j * d, d) / below;
            add(r->dv + j * d, dot(q_above, k.above + j * d, d) / below, dout, d);
            add(dq[1] + i * d, dabove, k.above + j * d, d);
            add(dk[1] + j * d, dabove, q_above, d);
            add(dq[0] + i * d, dbelow, k.below + j * d, d);
            add(dk[0] + j * d, dbelow, q_below, d);
        }
    }
    features_gradient(r, &q, dq[0], dq[1], r->dq);
    features_gradient(r, &k, dk[0], dk[1], r->dk);
}

/* ---- the engine on the same inputs ----------------------------------------------------------- */

static double *random_numbers(size_t count, uint64_t item, double deviation) {
    double *x = ALLOCATE(count, double);
    Rng rng = rng_stream(4, RNG_TEST, 9, item);
    for (size_t i = 0; i < count; i++) x[i] = (double)(real)(deviation * rng_normal(&rng));
    return x;
}

static Reference reference_of(const Encoding *encoding, size_t length, size_t d, bool causal) {
    const size_t size = length * d;
    Reference r = {.length = length,
                   .d = d,
                   .causal = causal,
                   .turns = encoding->rotate != NULL,
                   .options = *tested_linear(encoding),
                   .positions = ALLOCATE(length, double)};
    double **drawn[] = {&r.q, &r.k, &r.v, &r.dout}, **found[] = {&r.o, &r.dq, &r.dk, &r.dv};
    for (size_t i = 0; i < COUNT(drawn); i++) *drawn[i] = random_numbers(size, i, 1);
    for (size_t i = 0; i < COUNT(found); i++) *found[i] = ALLOCATE(size, double);
    for (size_t t = 0; t < length; t++) r.positions[t] = (double)(t + t / 7);
    return r;
}

static void free_reference(const Reference *r) {
    double *all[] = {r->q, r->k, r->v, r->positions, r->dout, r->o, r->dq, r->dk, r->dv};
    for (size_t i = 0; i < COUNT(all); i++) free(all[i]);
}

/* o, dq, dk, dv [length, d] of a model of one head, as the engine makes them. */
typedef struct {
    real *o, *dq, *dk, *dv;
} Found;

static Found run(const Encoding *encoding, const Reference *r) {
    SmallModelOwner *owner = small_model_create(&(SmallModel){.encoding = encoding,
                                                              .layers = 1,
                                                              .heads = 1,
                                                              .head_width = (int)r->d,
                                                              .bidirectional = !r->causal});
    ck_assert_ptr_null(model_refuse(&owner->model->shape));
    Engine *engine = engine_create(owner->model);
    int32_t *tokens = ALLOCATE(r->length, int32_t);
    const size_t d = r->d, size = r->length * d;
    engine_begin(engine,
                 &(Batch){.items = 1,
                          .length = r->length,
                          .tokens = tokens,
                          .positions = r->positions,
                          .segments = r->segments},
                 &(ModelOutput){0}, true);
    Activations *acts = &engine->activations[0];
    for (size_t t = 0; t < r->length; t++)
        for (size_t c = 0; c < d; c++) {
            acts->qkv[t * 3 * d + c] = (real)r->q[t * d + c];
            acts->qkv[t * 3 * d + d + c] = (real)r->k[t * d + c];
            acts->qkv[t * 3 * d + 2 * d + c] = (real)r->v[t * d + c];
            acts->d_o[t * d + c] = (real)r->dout[t * d + c];
        }
    const Place at = {.engine = engine, .acts = engine->activations, .scratch = engine->scratch};
    linear_forward(&at, 0, 0);
    linear_backward(&at, 0, 0);
    Found f = {ALLOCATE(size, real), ALLOCATE(size, real), ALLOCATE(size, real),
               ALLOCATE(size, real)};
    memcpy(f.o, acts->o, size * sizeof(real));
    for (size_t t = 0; t < r->length; t++) {
        memcpy(f.dq + t * d, acts->dqkv + t * 3 * d, d * sizeof(real));
        memcpy(f.dk + t * d, acts->dqkv + t * 3 * d + d, d * sizeof(real));
        memcpy(f.dv + t * d, acts->dqkv + t * 3 * d + 2 * d, d * sizeof(real));
    }
    engine_free(engine);
    small_model_free(owner);
    free(tokens);
    return f;
}

static void free_found(const Found *f) {
    free(f->o);
    free(f->dq);
    free(f->dk);
    free(f->dv);
}

/* The norm of the difference over the norm of what is wanted, where that is more than roundings:
   a single token has no gradient for q and k. */
static double error_of(const real *found, const double *wanted, size_t count) {
    double off = 0, all = 0;
    for (size_t i = 0; i < count; i++) {
        off += pow((double)found[i] - wanted[i], 2);
        all += wanted[i] * wanted[i];
    }
    return sqrt(off / (all > 1e-20 ? all : 1));
}

static void near_reference(const char *what, const Found *f, const Reference *r, double bound) {
    const size_t size = r->length * r->d;
    const real *found[] = {f->o, f->dq, f->dk, f->dv};
    const double *wanted[] = {r->o, r->dq, r->dk, r->dv};
    static const char *const names[] = {"o", "dq", "dk", "dv"};
    for (size_t i = 0; i < COUNT(found); i++) {
        const double error = error_of(found[i], wanted[i], size);
        ck_assert_msg(error <= bound, "%s, %s, length %zu: %s is off by %.3g", what,
                      r->causal ? "causal" : "both ways", r->length, names[i], error);
    }
}

static bool acts_here(const Encoding *encoding) { /* not at the embedding alone; xpos is not ours */
    return !encoding->embed && !encoding->needs_causal;
}

/* Every end of a chunk of 64 and of a group of 16. */
START_TEST(weights_written_out) {
    static const size_t lengths[] = {1, 2, 15, 16, 17, 63, 64, 65, 80, 127, 128, 129, 200};
    const Encoding *encoding = linear_encoding((size_t)_i);
    gemm_start();
    for (size_t i = 0; acts_here(encoding) && i < COUNT(lengths); i++)
        for (int causal = 0; causal < 2; causal++) {
            Reference r = reference_of(encoding, lengths[i], i % 2 ? 8 : 12, causal);
            reference(&r);
            const Found f = run(encoding, &r);
            near_reference(encoding->name, &f, &r, TOLERANCE_ATTENTION);
            free_found(&f);
            free_reference(&r);
        }
}
END_TEST

/* Float gradients keep their digits over 2048 tokens: sums along the sequence are double. */
START_TEST(digits_over_a_long_sequence) {
    const Encoding *encoding = tested_find(_i ? "linear rope exp before" : "linear rope elu after");
    gemm_start();
    for (int causal = 0; causal < 2; causal++) {
        Reference r = reference_of(encoding, 2048, 16, causal);
        reference(&r);
        const Found f = run(encoding, &r);
        near_reference(encoding->name, &f, &r, TOLERANCE(1e-6, 1e-13));
        free_found(&f);
        free_reference(&r);
    }
}
END_TEST

/* ---- segments -------------------------------------------------------------------------------- */

/* Two sequences whose tokens stand in turn, and padding: each has the bits that it has alone. */
START_TEST(segments_are_what_they_are_alone) {
    enum { LENGTH = 231, D = 8 };
    const Encoding *encoding = linear_encoding((size_t)_i);
    gemm_start();
    for (int causal = 0; acts_here(encoding) && causal < 2; causal++) {
        int32_t segments[LENGTH];
        Reference r = reference_of(encoding, LENGTH, D, causal);
        for (size_t t = 0; t < LENGTH; t++)
            segments[t] = t % 11 == 0 ? -1 : t > 200 ? 9 : (int32_t)(t / 3 % 2);
        r.segments = segments;
        reference(&r);
        const Found f = run(encoding, &r);
        for (int32_t own = 0; own <= 9; own++) {
            Reference alone = reference_of(encoding, LENGTH, D, causal);
            size_t count = 0;
            for (size_t t = 0; t < LENGTH; t++) {
                if (segments[t] != own) continue;
                alone.positions[count] = r.positions[t];
                memcpy(alone.q + count * D, r.q + t * D, D * sizeof(double));
                memcpy(alone.k + count * D, r.k + t * D, D * sizeof(double));
                memcpy(alone.v + count * D, r.v + t * D, D * sizeof(double));
                memcpy(alone.dout + count++ * D, r.dout + t * D, D * sizeof(double));
            }
            alone.length = count;
            const Found g = count ? run(encoding, &alone) : (Found){0};
            for (size_t t = 0, n = 0; count && t < LENGTH; t++) {
                if (segments[t] != own) continue;
                ck_assert_mem_eq(f.o + t * D, g.o + n * D, D * sizeof(real));
                ck_assert_mem_eq(f.dq + t * D, g.dq + n * D, D * sizeof(real));
                ck_assert_mem_eq(f.dk + t * D, g.dk + n * D, D * sizeof(real));
                ck_assert_mem_eq(f.dv + t * D, g.dv + n++ * D, D * sizeof(real));
            }
            free_found(&g);
            free_reference(&alone);
        }
        for (size_t i = 0; i < LENGTH * D; i++)
            if (segments[i / D] < 0)
                ck_assert(f.o[i] == 0 && f.dq[i] == 0 && f.dk[i] == 0 && f.dv[i] == 0);
        near_reference(encoding->name, &f, &r, TOLERANCE_ATTENTION);
        free_found(&f);
        free_reference(&r);
    }
}
END_TEST

/* ---- by hand --------------------------------------------------------------------------------- */

/* q = k = 0: every feature is 1. Without rotation o is the mean of what is visible; turned after
   the map, the weight of a key at distance n is the mean over the pairs of cos(n w). */
START_TEST(features_of_nothing) {
    enum { LENGTH = 70, D = 4 };
    static const char *const names[] = {"linear nope elu", "linear nope exp",
                                        "linear rope elu after", "linear rope exp after"};
    const Encoding *encoding = tested_find(names[_i]);
    gemm_start();
    Reference r = reference_of(encoding, LENGTH, D, true);
    memset(r.q, 0, LENGTH * D * sizeof(double));
    memset(r.k, 0, LENGTH * D * sizeof(double));
    const Found f = run(encoding, &r);
    bool negative = false;
    for (size_t i = 0; i < LENGTH; i++) {
        double wanted[D] = {0};
        for (size_t j = 0; j <= i; j++) {
            const double n = r.positions[i] - r.positions[j];
            const double weight = encoding->rotate ? (cos(n) + cos(n / 100)) / 2 : 1;
            negative |= weight < 0;
            add(wanted, weight / (double)(i + 1), r.v + j * D, D);
        }
        for (size_t c = 0; c < D; c++)
            ck_assert_double_eq_tol((double)f.o[i * D + c], wanted[c], TOLERANCE_ATTENTION);
    }
    ck_assert(negative == (encoding->rotate != NULL)); /* equation 19 allows it */
    free_found(&f);
    free_reference(&r);
}
END_TEST

/* exp: what is added to all channels of q cancels, however much it is; so does what is added to k,
   within what a key may be. */
START_TEST(exponents_that_cancel) {
    enum { LENGTH = 100, D = 8 };
    const Encoding *encoding = tested_find("linear rope exp after");
    gemm_start();
    Reference r = reference_of(encoding, LENGTH, D, true);
    reference(&r); /* before the shifts */
    for (size_t i = 0; i < LENGTH * D; i++) r.q[i] += (double)(100 * (i / D));
    for (size_t i = 0; i < LENGTH * D; i++) r.k[i] += 32;
    const Found f = run(encoding, &r);
    /* q holds numbers of 10^4: a float there is known to 5e-4. */
    near_reference("shifted", &f, &r, TOLERANCE(1e-3, 1e-11));
    free_found(&f);
    free_reference(&r);
}
END_TEST

/* Keys beyond 60 count as 60, and have no slope there: no overflow. */
START_TEST(exponents_that_are_too_large) {
    enum { LENGTH = 70, D = 8 };
    const Encoding *encoding = tested_find("linear rope exp after");
    gemm_start();
    Reference r = reference_of(encoding, LENGTH, D, true), limited = r;
    for (size_t i = 0; i < LENGTH * D; i += 3) r.k[i] = 200;
    limited.k = ALLOCATE(LENGTH * D, double);
    for (size_t i = 0; i < LENGTH * D; i++) limited.k[i] = fmin(r.k[i], 60);
    reference(&limited);
    const Found f = run(encoding, &r);
    ck_assert(error_of(f.o, limited.o, LENGTH * D) <= TOLERANCE_ATTENTION);
    ck_assert(error_of(f.dv, limited.dv, LENGTH * D) <= TOLERANCE_ATTENTION);
    for (size_t i = 0; i < LENGTH * D; i += 3) ck_assert(f.dk[i] == 0);
    for (size_t i = 0; i < LENGTH * D; i++) ck_assert(isfinite(f.dq[i]) && isfinite(f.dk[i]));
    free(limited.k);
    free_found(&f);
    free_reference(&r);
}
END_TEST

/* Features that do not meet until they are turned: the denominator is nearly 0, the numerator not.
   It counts as 1e-6, and as a constant. */
START_TEST(least_denominator) {
    enum { LENGTH = 3, D = 2 };
    const Encoding *encoding = tested_find("linear rope exp after");
    gemm_start();
    Reference r = reference_of(encoding, LENGTH, D, true);
    for (size_t t = 0; t < LENGTH; t++) {
        r.positions[t] = (double)t;
        r.q[t * D] = 0, r.q[t * D + 1] = -80;       /* features 1, 0 */
        r.k[t * D] = log(1e-8), r.k[t * D + 1] = 0; /* features 1e-8, 1 */
    }
    const Found f = run(encoding, &r);
    for (size_t i = 0; i < LENGTH; i++)
        for (size_t c = 0; c < D; c++) {
            /* the product of (1, 0) and (a, 1) turned by n is a cos(n) + sin(n) */
            double o = 0, dv = 0, along = 0;
            for (size_t j = 0; j < LENGTH; j++) {
                const double n = (double)i - (double)j, turned = 1e-8 * cos(n) + sin(fabs(n));
                if (j <= i) o += turned * r.v[j * D + c];
                if (j >= i) dv += turned * r.dout[j * D + c];
            }
            ck_assert_double_eq_tol((double)f.o[i * D + c] / 1e6, o, TOLERANCE_ATTENTION);
            ck_assert_double_eq_tol((double)f.dv[i * D + c] / 1e6, dv, TOLERANCE_ATTENTION);
            /* of the denominator dq has nothing: it is what the first feature gives to o */
            for (size_t n = 0; n < D; n++)
                along += r.dout[i * D + n] * (double)f.o[i * D + n] / 1e6;
            ck_assert_double_eq_tol((double)f.dq[i * D + c] / 1e6, c ? 0 : along,
                                    TOLERANCE_ATTENTION);
        }
    free_found(&f);
    free_reference(&r);
}
END_TEST

/* ---- gradients of models --------------------------------------------------------------------- */

#ifdef REAL_DOUBLE
/* Every encoding that can serve, map, order and direction; over two chunks too. */
START_TEST(gradients) {
    const Encoding *encoding = linear_encoding((size_t)_i);
    omp_set_num_threads(1);
    for (int both_ways = 0; both_ways < (encoding->needs_causal ? 1 : 2); both_ways++)
        for (int longer = 0; longer < 2; longer++) {
            SmallModelOwner *owner =
                small_model_create(&(SmallModel){.encoding = encoding,
                                                 .heads = longer ? 1 : 2,
                                                 .layers = longer ? 1 : 2,
                                                 .mlp = 6,
                                                 .vocabulary = 5,
                                                 .bidirectional = both_ways});
            SmallBatch *b = small_batch_create(owner->model, longer ? 1 : 2, longer ? 75 : 9, 1);
            for (size_t i = 0; i < b->batch.items * b->batch.length; i++)
                b->positions[i] = (double)(i % b->batch.length * 2);
            if (longer) b->batch.positions = b->positions;
            char what[80];
            snprintf(what, sizeof what, "%s%s%s", encoding->name, both_ways ? ", both ways" : "",
                     longer ? ", longer" : "");
            ck_assert(gradient_check(what, owner->model, b, 7) > 10);
            small_batch_free(b);
            small_model_free(owner);
        }
}
END_TEST
#endif

/* ---- what cannot serve ----------------------------------------------------------------------- */

/* Of every encoding, what linear attention has not and what the encoding does; NULL: it serves. */
START_TEST(refusals) {
    static const char *const cases[][3] = {
        {"nope"},
        {"sinusoidal"},
        {"learned"},
        {"rope"},
        {"xpos"},
        {"pope", "room for wider features", "widens q and k"},
        {"shaw", "scores", "adds to them"},
        {"transformer_xl", "scores", "adds to them"},
        {"tupe", "room for wider features", "widens q and k"},
        {"deberta", "scores", "adds to them"},
        {"t5", "scores", "adds to them"},
        {"alibi", "scores", "adds to them"},
        {"hard_alibi", "scores", "leaves some out"},
        {"kerple", "scores", "adds to them"},
        {"fire", "scores", "adds to them"},
        {"sandwich", "scores", "adds to them"},
        {"cope", "scores", "adds to them"},
        {"fox", "scores", "adds to them"},
        {"stick_breaking", "scores", "makes weights of them"},
        {"custom", "scores", "adds to them"},
    };
    ck_assert_uint_eq(COUNT(cases), encoding_count);
    for (size_t i = 0; i < encoding_count; i++) {
        const char *reason = linear_refuse(encodings[i]);
        ck_assert_str_eq(encodings[i]->name, cases[i][0]);
        ck_assert_msg(!reason == !cases[i][1], "%s: %s", cases[i][0], reason ? reason : "serves");
        if (!reason) continue;
        char wanted[160];
        snprintf(wanted, sizeof wanted, "linear attention has no %s: %s %s", cases[i][1],
                 cases[i][0], cases[i][2]);
        ck_assert_str_eq(reason, wanted);
    }
    const Encoding adds = {.name = "adds", .value = encoding_find("shaw")->value};
    ck_assert_str_eq(linear_refuse(&adds),
                     "linear attention has no weights of single keys: adds adds to values by them");
    const Encoding widens = {.name = "wide", .qk_width = encoding_rows.qk_width};
    ck_assert_str_eq(linear_refuse(&widens),
                     "linear attention has no room for wider features: wide widens q and k");
    const Encoding learns = {.name = "turn",
                             .rotate = encoding_find("rope")->rotate,
                             .parameters = encoding_find("learned")->parameters};
    ck_assert_str_eq(linear_refuse(&learns),
                     "linear attention has no gradients for rotations: turn learns one");
}
END_TEST

/* A state of d x d numbers a head is written and read by every token, whatever the length. */
START_TEST(operations) {
    KindOptions options;
    const LinearOptions linear = {0};
    const Encoding *nope = encoding_find("nope");
    option_defaults(nope->options, &options);
    ModelShape shape = {.layers = 3,
                        .heads = 4,
                        .width = 32,
                        .vocabulary = 10,
                        .causal = true,
                        .encoding = nope,
                        .encoding_options = &options,
                        .linear = &linear};
    const double matrices = 6.0 * (3 * 4 * 32 * 32 + 32 * 10);
    for (size_t length = 100; length <= 10000; length *= 10)
        ck_assert_double_eq(model_step_flops(&shape, 2, length),
                            2 * (double)length * (matrices + 12.0 * 3 * 8 * 32));
}
END_TEST

Suite *suite_linear(void);

Suite *suite_linear(void) {
    Suite *suite = suite_create("linear");
    TCase *tests = tcase_create("linear");
    const int all = (int)linear_encodings();
    tcase_set_timeout(tests, 120);
    tcase_add_loop_test(tests, paper, 0, (int)COUNT(linear_cases));
    tcase_add_loop_test(tests, weights_written_out, 0, all);
    tcase_add_loop_test(tests, digits_over_a_long_sequence, 0, 2);
    tcase_add_loop_test(tests, segments_are_what_they_are_alone, 0, all);
    tcase_add_loop_test(tests, features_of_nothing, 0, 4);
    tcase_add_test(tests, exponents_that_cancel);
    tcase_add_test(tests, exponents_that_are_too_large);
    tcase_add_test(tests, least_denominator);
#ifdef REAL_DOUBLE
    tcase_add_loop_test(tests, gradients, 0, all);
#endif
    tcase_add_test(tests, refusals);
    tcase_add_test(tests, operations);
    suite_add_tcase(suite, tests);
    return suite;
}

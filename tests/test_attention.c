/* attention: the tiled kernels against plain softmax over length x length, every hook, and what
   holds to the bit: causality, padding on the right, the row of a batch alone or among others. */
#include <check.h>
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/gemm.h"
#include "src/model/engine.h"
#include "tests/attention_probe.h"
#include "tests/hook_encodings.h"
#include "tests/naive.h"
#include "tests/tolerance.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum { HEADS = 3 };

/* Around every seam: 16 rows of a product, 32 and 64 of a query block, 256 keys of a tile. */
static const size_t lengths[] = {1, 5, 16, 17, 31, 64, 65, 80, 128, 129, 255, 256, 257, 600};

/* ---- attention on given q, k, v ------------------------------------------------------------- */

/* Random q, k and v of HEADS heads, and what the engine makes of them. The values are those that a
   float can hold, so that both builds and the reference see the same. */
typedef struct {
    SmallModelOwner *owner;
    size_t length, d, w;
    double *q, *k, *v, *positions;
    double *rotated_q, *rotated_k, *score, *probability, *o;
} Probed;

static double *random_floats(size_t count, uint64_t item) {
    double *x = ALLOCATE(count, double);
    Rng rng = rng_stream(5, RNG_TEST, 2, item);
    for (size_t i = 0; i < count; i++) x[i] = (double)(float)rng_normal(&rng);
    return x;
}

static Probed probe(const SmallModel *wanted, size_t length, const double *positions) {
    Probed p = {.owner = small_model_create(wanted), .length = length};
    p.d = (size_t)p.owner->model->encoding_shape.head_width;
    p.w = (size_t)p.owner->model->encoding_shape.qk_width;
    p.q = random_floats(HEADS * length * p.d, 1);
    p.k = random_floats(HEADS * length * p.d, 2);
    p.v = random_floats(HEADS * length * p.d, 3);
    p.positions = ALLOCATE(length, double);
    for (size_t i = 0; i < length; i++) p.positions[i] = positions ? positions[i] : (double)i;
    p.rotated_q = ALLOCATE(HEADS * length * p.w, double);
    p.rotated_k = ALLOCATE(HEADS * length * p.w, double);
    p.score = ALLOCATE(HEADS * length * length, double);
    p.probability = ALLOCATE(HEADS * length * length, double);
    p.o = ALLOCATE(HEADS * length * p.d, double);
    attention_probe(p.owner->model,
                    &(AttentionProbe){length, p.q, p.k, p.v, NULL, positions, p.rotated_q,
                                      p.rotated_k, p.score, p.probability, p.o});
    return p;
}

static void free_probed(Probed *p) {
    small_model_free(p->owner);
    double *all[] = {p->q,         p->k,     p->v,           p->positions, p->rotated_q,
                     p->rotated_k, p->score, p->probability, p->o};
    for (size_t i = 0; i < COUNT(all); i++) free(all[i]);
}

static void near_within(double tolerance, const char *what, size_t length, size_t head,
                        size_t count, const double *found, const double *wanted) {
    for (size_t i = 0; i < count; i++) {
        const double bound = tolerance * fmax(1, fabs(wanted[i]));
        if (!(found[i] == wanted[i] || fabs(found[i] - wanted[i]) <= bound))
            ck_abort_msg("%s[%zu] of head %zu, length %zu: %.9g, wanted %.9g", what, i, head,
                         length, found[i], wanted[i]);
    }
}

static void near_all(const char *what, size_t length, size_t head, size_t count,
                     const double *found, const double *wanted) {
    near_within(TOLERANCE_ATTENTION, what, length, head, count, found, wanted);
}

/* Scores, probabilities and outputs of every head against the reference, whose `q`, `k`, `width`
   are the rotated ones and whose `of` is the head for `add`. `value` adds to the output. */
typedef struct {
    const Probed *probed;
    size_t head;
    const real *parameters[2]; /* of the encoding, by `named` */
} Head;
typedef double Add(const void *head, size_t i, size_t j, double distance);
typedef double Value(const Head *head, double distance, size_t channel);

static void compare(const Probed *p, double scale, bool causal, const size_t *windows,
                    const char *const named[2], Add *add, Value *value) {
    const size_t length = p->length, square = length * length;
    double *score = ALLOCATE(square, double), *probability = ALLOCATE(square, double);
    double *o = ALLOCATE(length * p->d, double);
    for (size_t h = 0; h < HEADS; h++) {
        Head head = {.probed = p, .head = h};
        for (int i = 0; named && i < 2; i++)
            head.parameters[i] = probe_parameter(p->owner->model, named[i]);
        naive_attention(&(NaiveAttention){.length = length,
                                          .width = p->w,
                                          .value_width = p->d,
                                          .q = p->rotated_q + h * length * p->w,
                                          .k = p->rotated_k + h * length * p->w,
                                          .v = p->v + h * length * p->d,
                                          .scale = scale,
                                          .causal = causal,
                                          .window = windows ? windows[h] : 0,
                                          .positions = p->positions,
                                          .add = add,
                                          .of = &head,
                                          .score = score,
                                          .probability = probability,
                                          .o = o});
        for (size_t i = 0; value && i < length; i++)
            for (size_t j = 0; j < length; j++)
                for (size_t c = 0; c < p->d; c++)
                    o[i * p->d + c] += probability[i * length + j] *
                                       value(&head, p->positions[i] - p->positions[j], c);
        near_all("score", length, h, square, p->score + h * square, score);
        near_all("probability", length, h, square, p->probability + h * square, probability);
        near_all("o", length, h, length * p->d, p->o + h * length * p->d, o);
    }
    free(score);
    free(probability);
    free(o);
}

START_TEST(plain_softmax) {
    static const int widths[] = {1, 5, 8, 16};
    for (size_t i = 0; i < COUNT(lengths); i++)
        for (int bidirectional = 0; bidirectional <= 1; bidirectional++) {
            const int d = widths[i % COUNT(widths)];
            Probed p = probe(
                &(SmallModel){.heads = HEADS, .head_width = d, .bidirectional = bidirectional},
                lengths[i], NULL);
            near_all("q", lengths[i], 0, HEADS * lengths[i] * p.d, p.rotated_q, p.q);
            compare(&p, 1 / sqrt(d), !bidirectional, NULL, NULL, NULL, NULL);
            free_probed(&p);
        }
}
END_TEST

/* Scores beyond what exp can hold, and rows whose largest score comes in the last tile. */
START_TEST(large_scores) {
    enum { LENGTH = 300, D = 4 };
    SmallModelOwner *owner = small_model_create(&(SmallModel){.heads = HEADS, .head_width = D});
    double *q = random_floats(HEADS * LENGTH * D, 1), *k = random_floats(HEADS * LENGTH * D, 2);
    double *v = random_floats(HEADS * LENGTH * D, 3), *o = ALLOCATE(HEADS * LENGTH * D, double);
    double *wanted = ALLOCATE(LENGTH * D, double);
    /* One channel carries a score that rises or falls with the key, in whole numbers. */
    for (size_t i = 0; i < HEADS * LENGTH; i++)
        for (size_t c = 0; c < D; c++) {
            q[i * D + c] = c == 0 ? 2 : 0;
            k[i * D + c] = c == 0 ? (i / LENGTH == 0 ? 1 : -1) * (double)(i % LENGTH) : 0;
        }
    attention_probe(owner->model,
                    &(AttentionProbe){.length = LENGTH, .q = q, .k = k, .v = v, .o = o});
    for (size_t h = 0; h < HEADS; h++) {
        naive_attention(&(NaiveAttention){.length = LENGTH,
                                          .width = D,
                                          .value_width = D,
                                          .q = q + h * LENGTH * D,
                                          .k = k + h * LENGTH * D,
                                          .v = v + h * LENGTH * D,
                                          .scale = 0.5,
                                          .causal = true,
                                          .o = wanted});
        /* Scores of 300: their roundings are those of 10 thirty times. */
        near_within(30 * TOLERANCE_ATTENTION, "o", LENGTH, h, LENGTH * D, o + h * LENGTH * D,
                    wanted);
    }
    small_model_free(owner);
    double *all[] = {q, k, v, o, wanted};
    for (size_t i = 0; i < COUNT(all); i++) free(all[i]);
}
END_TEST

/* ---- positions ------------------------------------------------------------------------------ */

typedef enum { CONTIGUOUS, SHIFTED, GAPS, BACKWARDS, FRACTIONS, FAR_APART, LAYOUTS } Layout;

/* Positions of token i in a layout; every way of finding a bias is among them. */
static double *make_positions(Layout layout, size_t length) {
    double *positions = ALLOCATE(length, double);
    for (size_t i = 0; i < length; i++) {
        const double n = (double)i;
        positions[i] = layout == SHIFTED     ? n + 1000
                       : layout == GAPS      ? 3 * n + (double)(i % 3)
                       : layout == BACKWARDS ? (double)((i * 7) % (length + 3))
                       : layout == FRACTIONS ? 0.75 * n + 0.25 * (double)(i % 2)
                       : layout == FAR_APART ? n * 1e5
                                             : n;
    }
    return positions;
}

static double cosine_of_distance(const void *of, size_t i, size_t j, double distance) {
    (void)i, (void)j;
    const Head *head = of;
    return (double)head->parameters[0][head->head] *
           cos((double)head->parameters[1][head->head] * distance);
}

START_TEST(bias_by_distance) {
    static const size_t some[] = {1, 17, 64, 257};
    for (size_t i = 0; i < COUNT(some); i++)
        for (Layout layout = CONTIGUOUS; layout < LAYOUTS; layout++)
            for (int bidirectional = 0; bidirectional <= 1; bidirectional++) {
                double *positions = make_positions(layout, some[i]);
                Probed p = probe(&(SmallModel){.encoding = &encoding_cosine,
                                               .heads = HEADS,
                                               .bidirectional = bidirectional},
                                 some[i], layout == CONTIGUOUS ? NULL : positions);
                compare(&p, 0.5, !bidirectional, NULL, (const char *const[]){"amplitude", "rate"},
                        cosine_of_distance, NULL);
                free_probed(&p);
                free(positions);
            }
}
END_TEST

START_TEST(windows) {
    for (size_t i = 0; i < COUNT(lengths); i++)
        for (Layout layout = CONTIGUOUS; layout < LAYOUTS; layout++)
            for (int bidirectional = 0; bidirectional <= 1; bidirectional++) {
                double *positions = make_positions(layout, lengths[i]);
                Probed p = probe(&(SmallModel){.encoding = &encoding_window,
                                               .heads = HEADS,
                                               .bidirectional = bidirectional},
                                 lengths[i], layout == CONTIGUOUS ? NULL : positions);
                compare(&p, 0.5, !bidirectional, hook_windows, NULL, NULL, NULL);
                free_probed(&p);
                free(positions);
            }
}
END_TEST

/* ---- row scratch, value, widened q and k, carry ---------------------------------------------- */

static double rows_add(const void *of, size_t i, size_t j, double distance) {
    (void)j;
    const Head *head = of;
    const Probed *p = head->probed;
    const double *q = p->rotated_q + (head->head * p->length + i) * p->w;
    const real *key = head->parameters[0] + hook_row(distance) * p->w;
    double sum = 0;
    for (size_t c = 0; c < p->w; c++) sum += HOOK_SCALE * q[c] * 2 * (double)key[c];
    return sum;
}

static double rows_value(const Head *head, double distance, size_t channel) {
    return (double)head->parameters[1][hook_row(distance) * head->probed->d + channel] / 2;
}

START_TEST(row_scratch_and_values) {
    static const size_t some[] = {1, 17, 64, 257};
    for (size_t i = 0; i < COUNT(some); i++)
        for (Layout layout = CONTIGUOUS; layout < LAYOUTS; layout++)
            for (int bidirectional = 0; bidirectional <= 1; bidirectional++) {
                const size_t length = some[i];
                double *positions = make_positions(layout, length);
                Probed p = probe(&(SmallModel){.encoding = &encoding_rows,
                                               .heads = HEADS,
                                               .bidirectional = bidirectional},
                                 length, layout == CONTIGUOUS ? NULL : positions);
                const real *turn = probe_parameter(p.owner->model, "turn");
                for (size_t t = 0; t < HEADS * length; t++) {
                    const double angle = p.positions[t % length] / 3;
                    const double ends[] = {(double)turn[t / length] * sin(angle),
                                           p.k[t * p.d] * cos(angle)};
                    near_all("q", length, t, p.d, p.rotated_q + t * p.w, p.q + t * p.d);
                    near_all("k", length, t, p.d, p.rotated_k + t * p.w, p.k + t * p.d);
                    near_all("end of q", length, t, 1, p.rotated_q + t * p.w + p.d, &ends[0]);
                    near_all("end of k", length, t, 1, p.rotated_k + t * p.w + p.d, &ends[1]);
                }
                compare(&p, HOOK_SCALE, !bidirectional, NULL,
                        (const char *const[]){"keys", "values"}, rows_add, rows_value);
                free_probed(&p);
                free(positions);
            }
}
END_TEST

static double behind(const void *of, size_t i, size_t j, double distance) {
    (void)of, (void)distance;
    return HOOK_STEP * (double)(i - j);
}

/* Tiles come from the last to the first, and hand the carry on. */
START_TEST(carry_order) {
    for (size_t i = 0; i < COUNT(lengths); i++) {
        Probed p = probe(&(SmallModel){.encoding = &encoding_count_behind, .heads = HEADS},
                         lengths[i], NULL);
        compare(&p, 0.5, true, NULL, NULL, behind, NULL);
        free_probed(&p);
    }
}
END_TEST

/* ---- whole models --------------------------------------------------------------------------- */

/* Widths where a product's last panel is narrow: they once changed bits with the rows. */
static SmallModelOwner *model_of(const Encoding *encoding, bool bidirectional) {
    return small_model_create(&(SmallModel){.encoding = encoding,
                                            .heads = 2,
                                            .head_width = 8,
                                            .mlp = 72,
                                            .vocabulary = 67,
                                            .bidirectional = bidirectional,
                                            .bias = true});
}

/* Calls test(model, name) for an encoding, causal and (both) where it has a meaning bidirectional.
 */
typedef void OfModel(Model *model, const char *what);

static void for_models(int index, OfModel *test, bool both) {
    const Encoding *encoding = tested_encoding((size_t)index);
    gemm_start();
    omp_set_num_threads(1); /* threads are the matter of test_model.c; alone it is quicker */
    for (int bidirectional = 0; bidirectional <= both; bidirectional++) {
        if (bidirectional && encoding->needs_causal) continue;
        char what[80];
        snprintf(what, sizeof what, "%s%s", encoding->name, bidirectional ? ", bidirectional" : "");
        SmallModelOwner *owner = model_of(encoding, bidirectional);
        ck_assert_msg(!model_refuse(&owner->model->shape), "%s: %s", what,
                      model_refuse(&owner->model->shape));
        test(owner->model, what);
        small_model_free(owner);
    }
}

/* Logits of a batch, in memory of the caller. */
static real *logits_of(Engine *engine, const Model *model, const Batch *batch) {
    real *logits = ALLOCATE(batch->items * batch->length * (size_t)model->shape.vocabulary, real);
    engine_forward(engine, batch, &(ModelOutput){.logits = logits});
    return logits;
}

static int32_t *random_tokens(const Model *model, size_t count, uint64_t item) {
    int32_t *tokens = ALLOCATE(count, int32_t);
    Rng rng = rng_stream(6, RNG_TEST, 3, item);
    for (size_t i = 0; i < count; i++)
        tokens[i] = (int32_t)rng_below(&rng, (uint64_t)model->shape.vocabulary);
    return tokens;
}

static void same_bits(const char *what, const char *event, size_t at, size_t count,
                      const real *found, const real *wanted) {
    for (size_t i = 0; i < count; i++)
        if (memcmp(&found[i], &wanted[i], sizeof(real)))
            ck_abort_msg("%s, %s %zu: logit %zu is %.9g, was %.9g", what, event, at, i,
                         (double)found[i], (double)wanted[i]);
}

static void near_logits(const char *what, const char *event, size_t count, const real *found,
                        const real *wanted) {
    for (size_t i = 0; i < count; i++) {
        const double exact = (double)wanted[i];
        if (!(fabs((double)found[i] - exact) <= TOLERANCE_ORDER * fmax(1, fabs(exact))))
            ck_abort_msg("%s, %s: logit %zu is %.9g, wanted %.9g", what, event, i, (double)found[i],
                         exact);
    }
}

/* What comes later does not reach an earlier logit, by either driver. */
static void one_causality(Model *model, const char *what) {
    static const struct { size_t items, length; } shapes[] = {{1, 40}, {9, 40}, {1, 300}, {8, 130}};
    const size_t vocabulary = (size_t)model->shape.vocabulary;
    Engine *engine = engine_create(model);
    for (size_t s = 0; s < COUNT(shapes); s++) {
        const size_t items = shapes[s].items, length = shapes[s].length;
        int32_t *tokens = random_tokens(model, items * length, 1);
        const Batch batch = {.items = items, .length = length, .tokens = tokens};
        real *before = logits_of(engine, model, &batch);
        const size_t cuts[] = {1, 16, 31, length / 2 + 1, length - 1};
        for (size_t c = 0; c < COUNT(cuts); c++) {
            for (size_t i = 0; i < items * length; i++)
                if (i % length >= cuts[c]) tokens[i] = (tokens[i] + 1) % model->shape.vocabulary;
            real *after = logits_of(engine, model, &batch);
            for (size_t item = 0; item < items; item++)
                same_bits(what, "tokens changed from", cuts[c], cuts[c] * vocabulary,
                          after + item * length * vocabulary, before + item * length * vocabulary);
            ck_assert(memcmp(after, before, items * length * vocabulary * sizeof(real)));
            free(after);
            /* and back: cuts are not nested changes of each other */
            for (size_t i = 0; i < items * length; i++)
                if (i % length >= cuts[c])
                    tokens[i] = (tokens[i] + model->shape.vocabulary - 1) % model->shape.vocabulary;
        }
        free(before);
        free(tokens);
    }
    engine_free(engine);
}

START_TEST(causality) {
    for_models(_i, one_causality, false);
}
END_TEST

/* Padding on the right, and how long a causal sequence goes on: nothing changes before it. */
static void one_padding(Model *model, const char *what) {
    static const size_t some[] = {1, 16, 33, 70, 80, 127, 128, 129, 250, 257};
    enum { LONGEST = 300 };
    const size_t vocabulary = (size_t)model->shape.vocabulary;
    Engine *engine = engine_create(model);
    int32_t *tokens = random_tokens(model, LONGEST, 2), *segments = ALLOCATE(LONGEST, int32_t);
    for (size_t i = 0; i < COUNT(some); i++) {
        real *alone =
            logits_of(engine, model, &(Batch){.items = 1, .length = some[i], .tokens = tokens});
        const size_t padded[] = {some[i] + 1, some[i] + 20, LONGEST};
        for (size_t p = 0; p < COUNT(padded); p++) {
            for (size_t t = 0; t < LONGEST; t++) segments[t] = t < some[i] ? 0 : -1;
            Batch batch = {.items = 1, .length = padded[p], .tokens = tokens, .segments = segments};
            real *behind_padding = logits_of(engine, model, &batch);
            same_bits(what, "padded to", padded[p], some[i] * vocabulary, behind_padding, alone);
            free(behind_padding);
            if (!model->shape.causal) continue;
            batch.segments = NULL;
            real *longer = logits_of(engine, model, &batch);
            same_bits(what, "going on to", padded[p], some[i] * vocabulary, longer, alone);
            free(longer);
        }
        free(alone);
    }
    free(tokens);
    free(segments);
    engine_free(engine);
}

START_TEST(padding_on_the_right) {
    for_models(_i, one_padding, true);
}
END_TEST

/* An item of a batch is what it is alone, whatever the driver. */
static void one_batch(Model *model, const char *what) {
    static const struct {
        size_t items, length;
    } shapes[] = {{3, 20}, {8, 20}, {19, 45}, {2, 150}, {8, 150}, {3, 530}};
    const size_t vocabulary = (size_t)model->shape.vocabulary;
    Engine *engine = engine_create(model);
    for (size_t s = 0; s < COUNT(shapes); s++) {
        const size_t items = shapes[s].items, length = shapes[s].length;
        int32_t *tokens = random_tokens(model, items * length, 4);
        real *together =
            logits_of(engine, model, &(Batch){.items = items, .length = length, .tokens = tokens});
        for (size_t item = 0; item < items; item += items - 1) {
            real *alone = logits_of(engine, model,
                                    &(Batch){.items = 1,
                                             .length = length,
                                             .tokens = tokens + item * length,
                                             .first_item = item});
            same_bits(what, "among", items, length * vocabulary, alone,
                      together + item * length * vocabulary);
            free(alone);
        }
        free(together);
        free(tokens);
    }
    engine_free(engine);
}

START_TEST(batch_invariance) {
    for_models(_i, one_batch, true);
}
END_TEST

/* B38: A alone, with padding on the left, with padding on the right, packed before B. */
static void one_packing(Model *model, const char *what) {
    enum { A = 5, B = 4, PADS = 3 };
    const size_t vocabulary = (size_t)model->shape.vocabulary;
    Engine *engine = engine_create(model);
    int32_t *tokens = random_tokens(model, PADS + A + B, 5);
    static const double left_positions[] = {0, 0, 0, 0, 1, 2, 3, 4};
    static const int32_t left_segments[] = {-1, -1, -1, 0, 0, 0, 0, 0};
    static const int32_t right_segments[] = {0, 0, 0, 0, 0, -1, -1, -1};
    static const double packed_positions[] = {0, 1, 2, 3, 4, 0, 1, 2, 3};
    static const int32_t packed_segments[] = {5, 5, 5, 5, 5, 2, 2, 2, 2};
    int32_t *own = tokens + PADS;
    real *alone = logits_of(engine, model, &(Batch){.items = 1, .length = A, .tokens = own});
    real *b_alone = logits_of(engine, model, &(Batch){.items = 1, .length = B, .tokens = own + A});
    real *left = logits_of(engine, model,
                           &(Batch){.items = 1,
                                    .length = PADS + A,
                                    .tokens = tokens,
                                    .positions = left_positions,
                                    .segments = left_segments});
    real *right = logits_of(
        engine, model,
        &(Batch){.items = 1, .length = A + PADS, .tokens = own, .segments = right_segments});
    const Batch packed_batch = {.items = 1,
                                .length = A + B,
                                .tokens = own,
                                .positions = packed_positions,
                                .segments = packed_segments};
    real *packed = logits_of(engine, model, &packed_batch);
    near_logits(what, "padding on the left", A * vocabulary, left + PADS * vocabulary, alone);
    near_logits(what, "padding on the right", A * vocabulary, right, alone);
    near_logits(what, "first of a pack", A * vocabulary, packed, alone);
    near_logits(what, "second of a pack", B * vocabulary, packed + A * vocabulary, b_alone);
    /* No token of A reaches B, whose first row sees itself alone. */
    for (size_t i = 0; i < A; i++) own[i] = (own[i] + 1) % model->shape.vocabulary;
    real *changed = logits_of(engine, model, &packed_batch);
    near_logits(what, "behind a changed first", B * vocabulary, changed + A * vocabulary,
                packed + A * vocabulary);
    ck_assert(memcmp(changed, packed, A * vocabulary * sizeof(real)));
    real *all[] = {alone, b_alone, left, right, packed, changed};
    for (size_t i = 0; i < COUNT(all); i++) free(all[i]);
    free(tokens);
    engine_free(engine);
}

START_TEST(padding_and_packing) {
    for_models(_i, one_packing, true);
}
END_TEST

/* B39: a padding token sees nothing: its attention is exactly 0, so are the gradients of its q, k
   and v, and nothing of the model becomes NaN. Read from the engine's own memory. */
static void one_empty_row(Model *model, const char *what) {
    enum { LENGTH = 40, PADS = 3 };
    const size_t width = (size_t)model->shape.width;
    SmallBatch *b = small_batch_create(model, 1, LENGTH, 1);
    for (size_t i = 0; i < LENGTH; i++) {
        b->segments[i] = i < PADS || i == 20 ? -1 : 0;
        b->scored[i] = b->segments[i] == 0;
    }
    b->batch.segments = b->segments;
    real *gradients = ALLOCATE(model->count, real);
    Engine *engine = engine_create(model);
    engine_gradient(engine, &b->batch, 0.1, false, gradients, &b->output);
    /* o of the first layer, dqkv of the layer that backward did last: the first too */
    const Activations *acts = engine->activations;
    bool other_rows = false;
    for (size_t i = 0; i < LENGTH; i++)
        for (size_t c = 0; c < 3 * width; c++) {
            const real o = acts->o[i * width + c % width], dqkv = acts->dqkv[i * 3 * width + c];
            if (b->segments[i] < 0 && (o != 0 || dqkv != 0))
                ck_abort_msg("%s: padding %zu has output %g, gradient of q, k, v %g", what, i,
                             (double)o, (double)dqkv);
            other_rows |= dqkv != 0;
        }
    ck_assert(other_rows);
    for (size_t i = 0; i < model->count; i++)
        if (!isfinite(gradients[i]))
            ck_abort_msg("%s: gradient %zu is %g", what, i, (double)gradients[i]);
    for (size_t i = 0; i < LENGTH; i++) ck_assert(isfinite(b->output.loss[i]));
    free(gradients);
    engine_free(engine);
    small_batch_free(b);
}

START_TEST(a_row_that_sees_nothing) {
    for_models(_i, one_empty_row, true);
}
END_TEST

/* The three ways to find a bias give the same: the first item is the same in three batches, whose
   second item decides the way. */
START_TEST(three_ways_to_a_bias) {
    enum { LENGTH = 300 };
    gemm_start();
    for (int bidirectional = 0; bidirectional <= 1; bidirectional++) {
        SmallModelOwner *owner = small_model_create(&(SmallModel){
            .encoding = &encoding_cosine, .heads = 2, .bidirectional = bidirectional});
        Model *model = owner->model;
        SmallBatch *b = small_batch_create(model, 2, LENGTH, 1);
        memset(b->scored + LENGTH, 0, LENGTH);
        b->output.logits = ALLOCATE(2 * LENGTH * (size_t)model->shape.vocabulary, real);
        b->batch.positions = b->positions;
        Engine *engine = engine_create(model);
        real *logits[3], *gradients[3];
        static const Layout second[] = {CONTIGUOUS, GAPS, FRACTIONS};
        static const BiasPath paths[] = {BIAS_ROW, BIAS_GATHER, BIAS_SCORE};
        const size_t count = LENGTH * (size_t)model->shape.vocabulary;
        for (int way = 0; way < 3; way++) {
            double *positions = make_positions(second[way], LENGTH);
            memcpy(b->positions + LENGTH, positions, LENGTH * sizeof(double));
            free(positions);
            gradients[way] = ALLOCATE(model->count, real);
            engine_gradient(engine, &b->batch, 0.01, false, gradients[way], &b->output);
            ck_assert_int_eq(engine->bias_path, paths[way]);
            logits[way] = ALLOCATE(count, real);
            memcpy(logits[way], b->output.logits, count * sizeof(real));
            same_bits("cosine", "way to a bias", (size_t)way, count, logits[way], logits[0]);
            near_logits("cosine", "gradients", model->count, gradients[way], gradients[0]);
        }
        for (int way = 0; way < 3; way++) free(logits[way]), free(gradients[way]);
        engine_free(engine);
        small_batch_free(b);
        small_model_free(owner);
    }
}
END_TEST

/* Each array of a dump for itself, in both drivers, and for each layer: rows of probabilities sum
   to 1, and are those that come with the scores. */
START_TEST(dumps) {
    enum { LENGTH = 40, ITEMS = 8, H = 2, SIZE = ITEMS * H * LENGTH * LENGTH };
    gemm_start();
    omp_set_num_threads(1);
    SmallModelOwner *owner =
        small_model_create(&(SmallModel){.encoding = encoding_find("rope"), .heads = H});
    Model *model = owner->model;
    int32_t *tokens = random_tokens(model, ITEMS * LENGTH, 6);
    real *probability = ALLOCATE(2 * SIZE, real), *alone = ALLOCATE(SIZE, real);
    real *score = ALLOCATE(SIZE, real), *v = ALLOCATE(ITEMS * H * LENGTH * 4, real);
    Engine *engine = engine_create(model);
    ModelDump all = {.probability = {probability, probability + SIZE}, .score = {NULL, score}};
    ModelDump last = {.probability = {NULL, alone}, .v = {v}};
    Batch batch = {.items = ITEMS, .length = LENGTH, .tokens = tokens};
    engine_forward(engine, &batch, &(ModelOutput){.dump = &all});
    engine_forward(engine, &batch, &(ModelOutput){.dump = &last});
    ck_assert_mem_eq(alone, probability + SIZE, SIZE * sizeof(real));
    ck_assert(memcmp(probability, probability + SIZE, SIZE * sizeof(real)));
    for (size_t row = 0; row < 2 * SIZE / LENGTH; row++) {
        double sum = 0;
        for (size_t c = 0; c < LENGTH; c++) {
            const real p = probability[row * LENGTH + c];
            sum += (double)p;
            if (c > row % LENGTH && p != 0) ck_abort_msg("row %zu sees %zu", row, c);
            if (row >= SIZE / LENGTH && !isinf(score[row * LENGTH + c - SIZE]) == (p == 0))
                ck_abort_msg("row %zu, key %zu: score and probability %g", row, c, (double)p);
        }
        if (!(fabs(sum - 1) <= TOLERANCE_ATTENTION)) ck_abort_msg("row %zu sums to %g", row, sum);
    }
    /* an item alone, by the other driver */
    batch.items = 1;
    batch.tokens += 3 * LENGTH;
    engine_forward(engine, &batch, &(ModelOutput){.dump = &last});
    ck_assert_mem_eq(alone, probability + SIZE + 3 * SIZE / ITEMS, SIZE / ITEMS * sizeof(real));
    real *arrays[] = {probability, alone, score, v};
    for (size_t i = 0; i < COUNT(arrays); i++) free(arrays[i]);
    free(tokens);
    engine_free(engine);
    small_model_free(owner);
}
END_TEST

/* What is not a number must reach the loss: a guard that looks at it must fire. */
START_TEST(nan_is_seen) {
    gemm_start();
    static const size_t some[] = {1, 20, 300};
    static const int parts[] = {0, 1, 2}; /* columns of q, k, v */
    for (size_t l = 0; l < COUNT(some); l++)
        for (size_t part = 0; part < COUNT(parts); part++) {
            SmallModelOwner *owner = small_model_create(&(SmallModel){.layers = 1, .heads = 2});
            Model *model = owner->model;
            const size_t width = (size_t)model->shape.width;
            SmallBatch *b = small_batch_create(model, 1, some[l], 1);
            model->values[model->layers[0].qkv + part * width] = (real)NAN;
            Engine *engine = engine_create(model);
            engine_forward(engine, &b->batch, &b->output);
            for (size_t i = 0; i < some[l]; i++)
                ck_assert_msg(isnan(b->output.loss[i]), "length %zu, part %zu: loss %zu is %g",
                              some[l], part, i, (double)b->output.loss[i]);
            engine_free(engine);
            small_batch_free(b);
            small_model_free(owner);
        }
}
END_TEST

Suite *suite_attention(void);
Suite *suite_attention(void) {
    Suite *suite = suite_create("attention");
    TCase *tests = tcase_create("attention");
    const int all = (int)tested_encodings();
    tcase_add_test(tests, plain_softmax);
    tcase_add_test(tests, large_scores);
    tcase_add_test(tests, bias_by_distance);
    tcase_add_test(tests, windows);
    tcase_add_test(tests, row_scratch_and_values);
    tcase_add_test(tests, carry_order);
    tcase_add_loop_test(tests, causality, 0, all);
    tcase_add_loop_test(tests, padding_on_the_right, 0, all);
    tcase_add_loop_test(tests, batch_invariance, 0, all);
    tcase_add_loop_test(tests, padding_and_packing, 0, all);
    tcase_add_loop_test(tests, a_row_that_sees_nothing, 0, all);
    tcase_add_test(tests, three_ways_to_a_bias);
    tcase_add_test(tests, dumps);
    tcase_add_test(tests, nan_is_seen);
    suite_add_tcase(suite, tests);
    return suite;
}

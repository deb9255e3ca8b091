/* encodings: the registry and what each entry promises in its tables; then the values of rope,
   sinusoidal, learned and the sources of positions. Numbers come from the papers' formulas,
   computed in double outside this program, and from public bug reports. */
#include <check.h>
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/gemm.h"
#include "src/model/engine.h"
#include "tests/attention_probe.h"
#include "tests/small_model.h"
#include "tests/tolerance.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static void near_value(const char *what, size_t at, double found, double wanted, double bound) {
    if (!(fabs(found - wanted) <= bound))
        ck_abort_msg("%s[%zu] is %.12g, wanted %.12g within %.2g", what, at, found, wanted, bound);
}

/* ---- an encoding without a model ------------------------------------------------------------ */

typedef struct {
    KindOptions options;
    EncodingShape shape;
} Alone;

/* Two layers, heads of head_width, default options. */
static void alone(Alone *a, const Encoding *encoding, int heads, int head_width) {
    memset(a, 0, sizeof *a);
    option_defaults(encoding->options, &a->options);
    a->shape = (EncodingShape){.layers = 2,
                               .heads = heads,
                               .width = heads * head_width,
                               .head_width = head_width,
                               .qk_width = head_width,
                               .causal = true,
                               .trained_length = 64,
                               .options = &a->options};
    if (encoding->qk_width) a->shape.qk_width = encoding->qk_width(&a->shape);
}

/* ---- registry ------------------------------------------------------------------------------ */

static void check_text(const char *of, const char *what, const char *text) {
    ck_assert_msg(text && *text, "%s has no %s", of, what);
    ck_assert_msg(!isspace((unsigned char)*text) && !strchr(text, '\n'), "%s: %s \"%s\"", of, what,
                  text);
}

static int words(const char *text) {
    int count = 1;
    for (; *text; text++) count += *text == '|';
    return count;
}

static size_t field_size(const Option *option) {
    switch (option->type) {
    case OPTION_BOOLEAN: return sizeof(bool);
    case OPTION_CHOICE: return sizeof(int);
    case OPTION_STRING: return OPTION_TEXT_SIZE;
    case OPTION_FILE: return sizeof(File);
    case OPTION_INTEGERS: return sizeof(IntegerList);
    case OPTION_SPAN: return sizeof(Span);
    default: return sizeof(double);
    }
}

static void check_options(const char *of, const Option *table, size_t size) {
    ck_assert(size <= OPTION_STRUCT_SIZE);
    for (const Option *o = table; o && o->name; o++) {
        check_text(of, "option name", o->name);
        check_text(of, o->name, o->doc);
        ck_assert_msg(option_find(table, o->name) == o, "%s: %s twice", of, o->name);
        ck_assert_msg(o->offset + field_size(o) <= size, "%s: %s is outside its struct", of,
                      o->name);
        if (o->type == OPTION_CHOICE)
            ck_assert_msg(o->fallback >= 0 && o->fallback < words(o->words), "%s: default of %s",
                          of, o->name);
        if (o->type == OPTION_INTEGER || o->type == OPTION_NUMBER)
            ck_assert_msg(o->min <= o->fallback && o->fallback <= o->max,
                          "%s: default %g of %s is outside %g to %g", of, o->fallback, o->name,
                          o->min, o->max);
        if (o->type == OPTION_INTEGER)
            ck_assert_msg(o->fallback == floor(o->fallback) && o->min == floor(o->min) &&
                              o->max == floor(o->max),
                          "%s: %s is an integer", of, o->name);
    }
}

static void check_name(const char *name) {
    ck_assert(name && *name);
    for (const char *c = name; *c; c++)
        ck_assert(islower((unsigned char)*c) || isdigit((unsigned char)*c) || *c == '_');
}

START_TEST(registry) {
    ck_assert_uint_ge(encoding_count, 4);
    ck_assert_str_eq(encodings[0]->name, "nope");
    for (size_t e = 0; e < encoding_count; e++) {
        const Encoding *encoding = encodings[e];
        check_name(encoding->name);
        ck_assert_ptr_eq(encoding_find(encoding->name), encoding); /* so names are unique */
        check_text(encoding->name, "summary", encoding->summary);
        check_text(encoding->name, "source", encoding->source);
        check_options(encoding->name, encoding->options, encoding->options_size);
    }
    ck_assert_ptr_null(encoding_find("nothing"));
    ck_assert_ptr_null(encoding_find(""));
    for (size_t p = 0; p < position_source_count; p++) {
        const PositionSource *source = position_sources[p];
        check_name(source->name);
        ck_assert_ptr_eq(position_source_find(source->name), source);
        check_text(source->name, "summary", source->summary);
        check_options(source->name, source->options, source->options_size);
        ck_assert(source->draw && source->largest);
    }
    ck_assert_ptr_null(position_source_find("nothing"));
}
END_TEST

/* A hook without its twin would train on a wrong gradient, or read memory that nobody wrote. */
START_TEST(hooks_come_in_pairs) {
    for (size_t i = 0; i < encoding_count; i++) {
        const Encoding *e = encodings[i];
        Alone a;
        alone(&a, e, 3, 16);
        EncodingParameter list[ENCODING_PARAMETERS];
        memset(list, 0, sizeof list);
        const int parameters = e->parameters ? e->parameters(&a.shape, list) : 0;
        const struct {
            const char *what;
            bool holds;
        } rules[] = {
            {"rotate and its twin", !e->rotate == !e->rotate_backward},
            {"value and its twin", !e->value == !e->value_backward},
            {"normalise and its twin", !e->normalise == !e->normalise_backward},
            {"gate and its twin", !e->gate == !e->gate_backward},
            {"scan and its twin", !e->scan == !e->scan_backward},
            {"gates", !e->gate == !e->gates},
            {"scans", !e->scan == !e->scans},
            {"a scan reads gates", !e->scan || e->gate},
            {"begin and table_size", !e->begin == !e->table_size},
            {"prepare and prepared_size", !e->prepare == !e->prepared_size},
            {"a slot is read by prepare_backward", !e->slot_size == !e->prepare_backward},
            {"open and row_scratch", !e->open == !e->row_scratch},
            {"open's twin", !e->open_backward || e->open},
            {"score's twin", !e->score_backward || e->score},
            {"bias's twin", !e->bias_backward || e->bias},
            {"a carry goes along the sequence", !e->carries || e->needs_causal},
            {"parameters have a gradient", !parameters || e->embed_backward || e->bias_backward ||
                                               e->prepare_backward || e->gate_backward},
            {"a widened q needs rotate", a.shape.qk_width == a.shape.head_width || e->rotate},
        };
        for (size_t r = 0; r < COUNT(rules); r++)
            ck_assert_msg(rules[r].holds, "%s: %s", e->name, rules[r].what);
        for (int k = 0; k < parameters; k++) {
            check_text(e->name, "parameter name", list[k].name);
            ck_assert(list[k].rank >= 1 && list[k].rank <= ENCODING_RANK && list[k].deviation >= 0);
            for (int axis = 0; axis < list[k].rank; axis++) ck_assert(list[k].dims[axis] > 0);
            for (int other = 0; other < k; other++)
                ck_assert_str_ne(list[k].name, list[other].name);
        }
    }
}
END_TEST

START_TEST(what_an_encoding_needs) {
    for (size_t i = 0; i < encoding_count; i++) {
        const Encoding *e = encodings[i];
        KindOptions options;
        option_defaults(e->options, &options);
        ModelShape shape = {.layers = 2,
                            .width = 48,
                            .heads = 3,
                            .vocabulary = 7,
                            .causal = true,
                            .encoding = e,
                            .encoding_options = &options,
                            .positions = position_source_find("plain"),
                            .trained_length = 64};
        ck_assert_msg(!model_refuse(&shape), "%s: %s", e->name, model_refuse(&shape));
        shape.causal = false;
        ck_assert_msg(!model_refuse(&shape) == !e->needs_causal, "%s, bidirectional", e->name);
        shape.causal = true;
        shape.width = 45; /* heads of 15 */
        const char *reason = model_refuse(&shape);
        if (e->needs_even_head_width || e == encoding_find("rope"))
            ck_assert_msg(reason && strstr(reason, "15"), "%s: %s", e->name, reason);
    }
}
END_TEST

/* ---- tables for the result file ------------------------------------------------------------- */

typedef struct {
    const Encoding *encoding;
    const EncodingShape *shape;
    const EncodingParameter *parameters;
    int parameter_count, table_count;
    char names[16][64];
} Sink;

static void check_table(void *to, const PositionTable *t) {
    Sink *sink = to;
    const char *of = sink->encoding->name;
    check_name(t->name);
    for (int i = 0; i < sink->table_count; i++) ck_assert_str_ne(sink->names[i], t->name);
    ck_assert_uint_lt(sink->table_count, COUNT(sink->names));
    strncpy(sink->names[sink->table_count++], t->name, sizeof sink->names[0] - 1);
    ck_assert_msg(t->rank >= 1 && t->rank <= 4, "%s/%s: rank %d", of, t->name, t->rank);
    size_t count = 1;
    for (int axis = 0; axis < t->rank; axis++) {
        ck_assert_msg(t->dims[axis] > 0, "%s/%s: axis %d is empty", of, t->name, axis);
        check_name(t->axes[axis]);
        count *= t->dims[axis];
        if (!strcmp(t->axes[axis], "head"))
            ck_assert_uint_eq(t->dims[axis], (size_t)sink->shape->heads);
        if (!strcmp(t->axes[axis], "layer"))
            ck_assert_uint_eq(t->dims[axis], (size_t)sink->shape->layers);
    }
    for (size_t i = 0; i < count; i++)
        if (!isfinite(t->values[i])) ck_abort_msg("%s/%s[%zu] is %g", of, t->name, i, t->values[i]);
    const bool learned = !strcmp(t->kind, "learned");
    ck_assert_msg(learned || !strcmp(t->kind, "fixed"), "%s/%s: kind %s", of, t->name, t->kind);
    ck_assert_msg(!learned || sink->parameter_count, "%s/%s is learned from nothing", of, t->name);
    check_text(of, t->name, t->convention);
    ck_assert_ptr_nonnull(t->unit);
    ck_assert_int_lt(t->counted, sink->parameter_count);
    if (t->counted >= 0) {
        ck_assert(sink->parameters[t->counted].counts_rows);
        ck_assert_uint_eq(t->dims[0], sink->parameters[t->counted].dims[0]);
    }
}

/* The tables of every encoding, from a model with its initial values. */
START_TEST(tables) {
    static const size_t lengths[] = {1, 10, 64};
    for (size_t i = 0; i < encoding_count; i++) {
        if (!encodings[i]->tables) continue;
        SmallModelOwner *owner = small_model_create(&(SmallModel){
            .encoding = encodings[i], .heads = 3, .head_width = 16, .trained_length = 64});
        const Model *model = owner->model;
        EncodingParameter list[ENCODING_PARAMETERS];
        memset(list, 0, sizeof list);
        Sink sink = {.encoding = encodings[i], .shape = &model->encoding_shape, .parameters = list};
        if (encodings[i]->parameters)
            sink.parameter_count = encodings[i]->parameters(&model->encoding_shape, list);
        const real *values[2][ENCODING_PARAMETERS] = {{NULL}};
        for (int layer = 0; layer < 2; layer++)
            for (int k = 0; k < sink.parameter_count; k++)
                values[layer][k] = model->values + model->layers[layer].encoding[k];
        const real *const *const layers[] = {values[0], values[1]};
        for (size_t l = 0; l < COUNT(lengths); l++) {
            sink.table_count = 0;
            encodings[i]->tables(&model->encoding_shape, layers, lengths[l], check_table, &sink);
            ck_assert_msg(sink.table_count > 0, "%s gives no table", encodings[i]->name);
        }
        small_model_free(owner);
    }
}
END_TEST

/* One table of an encoding, copied: values[count]. */
typedef struct {
    const char *name;
    size_t count;
    double values[64];
    char convention[256];
} OneTable;

static void keep_table(void *to, const PositionTable *t) {
    OneTable *one = to;
    if (strcmp(one->name, t->name)) return;
    one->count = 1;
    for (int axis = 0; axis < t->rank; axis++) one->count *= t->dims[axis];
    ck_assert_uint_le(one->count, COUNT(one->values));
    memcpy(one->values, t->values, one->count * sizeof(double));
    strncpy(one->convention, t->convention, sizeof one->convention - 1);
}

static OneTable table_of(const Encoding *encoding, const Alone *a, const char *name) {
    OneTable one = {.name = name};
    encoding->tables(&a->shape, NULL, 1, keep_table, &one);
    ck_assert_msg(one.count > 0, "%s has no table %s", encoding->name, name);
    return one;
}

/* ---- rope ---------------------------------------------------------------------------------- */

enum { HALF, INTERLEAVED };

/* One row turned at a position by the encoding's own hooks; backward gives the gradient of x. */
static void turn(const Alone *a, double position, bool backward, const double *x, double *out) {
    const Encoding *rope = encoding_find("rope");
    const size_t d = (size_t)a->shape.head_width;
    Site site = {.shape = &a->shape, .length = 1, .positions = &position};
    real *table = ALLOCATE(rope->table_size(&a->shape, 1), real);
    real *in = ALLOCATE(d, real), *result = ALLOCATE(d, real);
    rope->begin(&site, table);
    site.table = table;
    for (size_t c = 0; c < d; c++) in[c] = (real)x[c];
    if (backward)
        rope->rotate_backward(&site, ROTATE_QUERY, 0, 1, in, d, in, result, NULL);
    else
        rope->rotate(&site, ROTATE_QUERY, 0, 1, in, d, result);
    for (size_t c = 0; c < d; c++) out[c] = (double)result[c];
    free(table);
    free(in);
    free(result);
}

static void rope_alone(Alone *a, int head_width, int layout) {
    const Encoding *rope = encoding_find("rope");
    alone(a, rope, 1, head_width);
    small_option(rope->options, &a->options, "layout", layout);
}

/* B02 */
START_TEST(rope_values) {
    static const double x[4] = {1, 2, 3, 4}, positions[] = {1, 2, 100};
    static const double wanted[2][3][4] = {{{-1.984110649, 1.959900667, 2.462377902, 4.019799668},
                                            {-3.144039117, 1.919605347, -0.339143083, 4.039197360},
                                            {2.381415796, -2.285279327, 2.080590976, 3.844151193}},
                                           {{-1.142639664, 1.922075597, 2.959850668, 4.029799502},
                                            {-2.234741690, 0.077003754, 2.919405353, 4.059196027},
                                            {1.875050155, 1.218272103, -1.744977022, 4.685622178}}};
    for (int layout = HALF; layout <= INTERLEAVED; layout++)
        for (size_t p = 0; p < COUNT(positions); p++) {
            Alone a;
            double out[4];
            rope_alone(&a, 4, layout);
            turn(&a, positions[p], false, x, out);
            for (size_t c = 0; c < 4; c++)
                near_value("turned", c, out[c], wanted[layout][p][c], TOLERANCE(2e-6, 6e-10));
        }
}
END_TEST

/* B01: position 0 is the identity to the bit; heads are turned alike, tokens are not. */
START_TEST(rope_at_position_zero_and_along_tokens) {
    enum { HEADS = 4, D = 6 };
    for (int layout = HALF; layout <= INTERLEAVED; layout++) {
        const Encoding *rope = encoding_find("rope");
        KindOptions options;
        option_defaults(rope->options, &options);
        small_option(rope->options, &options, "layout", layout);
        SmallModelOwner *owner = small_model_create(&(SmallModel){
            .encoding = rope, .encoding_options = &options, .heads = HEADS, .head_width = D});
        double q[HEADS * 2 * D], out_q[HEADS * 2 * D], out_k[HEADS * 2 * D];
        for (size_t i = 0; i < COUNT(q); i++) q[i] = 0.5 + 0.25 * (double)(i % D);
        attention_probe(
            owner->model,
            &(AttentionProbe){
                .length = 1, .q = q, .k = q, .v = q, .rotated_q = out_q, .rotated_k = out_k});
        for (size_t i = 0; i < HEADS * D; i++) ck_assert(out_q[i] == q[i] && out_k[i] == q[i]);
        attention_probe(
            owner->model,
            &(AttentionProbe){
                .length = 2, .q = q, .k = q, .v = q, .rotated_q = out_q, .rotated_k = out_k});
        for (size_t h = 0; h < HEADS; h++) {
            ck_assert_mem_eq(out_q + h * 2 * D, out_q, sizeof(double[2 * D]));
            ck_assert_mem_eq(out_q + h * 2 * D, q, sizeof(double[D]));
            ck_assert(memcmp(out_q + h * 2 * D + D, q, sizeof(double[D])));
            ck_assert_mem_eq(out_k + h * 2 * D, out_q, sizeof(double[2 * D]));
        }
        small_model_free(owner);
    }
}
END_TEST

/* The score of a query at m and a key at n, both unscaled. */
static double rope_score(int layout, const double *query, const double *key, double m, double n) {
    const Encoding *rope = encoding_find("rope");
    KindOptions options;
    option_defaults(rope->options, &options);
    small_option(rope->options, &options, "layout", layout);
    SmallModelOwner *owner = small_model_create(
        &(SmallModel){.encoding = rope, .encoding_options = &options, .heads = 1});
    double q[8] = {0}, k[8] = {0}, score[4];
    memcpy(q + 4, query, sizeof(double[4]));
    memcpy(k, key, sizeof(double[4]));
    attention_probe(
        owner->model,
        &(AttentionProbe){
            .length = 2, .q = q, .k = k, .v = q, .positions = (double[]){n, m}, .score = score});
    small_model_free(owner);
    return score[2] * 2; /* the scale is 1 / sqrt(4) */
}

/* B03, B04: the score depends on the distance alone, wherever the two stand; and the layouts are
   one another's permutation, not one another. */
START_TEST(rope_scores_by_distance) {
    static const double q[] = {0.3, -1.2, 0.7, 2.0}, k[] = {1.1, 0.4, -0.6, 0.9};
    static const double permuted_q[] = {0.3, 0.7, -1.2, 2.0}, permuted_k[] = {1.1, -0.6, 0.4, 0.9};
    static const double pairs[][2] = {{5, 2}, {105, 102}, {1003, 1000}, {3, 0}};
    const double bound = TOLERANCE(1e-5, 1e-11);
    for (size_t p = 0; p < COUNT(pairs); p++) {
        const double m = pairs[p][0], n = pairs[p][1];
        near_value("interleaved", p, rope_score(INTERLEAVED, q, k, m, n), 1.785982498040, bound);
        near_value("half", p, rope_score(HALF, q, k, m, n), 1.218049821205, bound);
        near_value("permuted", p, rope_score(HALF, permuted_q, permuted_k, m, n), 1.785982498040,
                   bound);
    }
    /* a fractional distance: the same, whatever the start */
    near_value("fraction", 0, rope_score(HALF, q, k, 2.75, 1.25),
               rope_score(HALF, q, k, 100.75, 99.25), bound);
}
END_TEST

START_TEST(rope_keeps_the_norm) {
    static const double positions[] = {0, 1, 0.5, 77, 2047, 1e6};
    for (int layout = HALF; layout <= INTERLEAVED; layout++)
        for (size_t p = 0; p < COUNT(positions); p++) {
            Alone a;
            double x[32], out[32], before = 0, after = 0;
            rope_alone(&a, 32, layout);
            for (size_t c = 0; c < 32; c++) x[c] = (double)((c * 5) % 7) - 2.5;
            turn(&a, positions[p], false, x, out);
            for (size_t c = 0; c < 32; c++) before += x[c] * x[c], after += out[c] * out[c];
            near_value("norm", p, after / before, 1, TOLERANCE_OP);
        }
}
END_TEST

/* B05: without q and k attention is uniform, and its output does not know of rope. */
START_TEST(rope_leaves_values_alone) {
    enum { LENGTH = 8, D = 4, HEADS = 2 };
    double zero[HEADS * LENGTH * D] = {0}, v[HEADS * LENGTH * D], o[2][HEADS * LENGTH * D];
    for (size_t i = 0; i < COUNT(v); i++) v[i] = (double)((i * 11) % 17) - 8;
    static const char *const names[] = {"rope", "nope"};
    for (size_t n = 0; n < 2; n++) {
        SmallModelOwner *owner = small_model_create(
            &(SmallModel){.encoding = encoding_find(names[n]), .heads = HEADS, .head_width = D});
        attention_probe(
            owner->model,
            &(AttentionProbe){.length = LENGTH, .q = zero, .k = zero, .v = v, .o = o[n]});
        small_model_free(owner);
    }
    ck_assert_mem_eq(o[0], o[1], sizeof o[0]);
    near_value("mean of values", 0, o[0][D * 3], (v[0] + v[D] + v[2 * D] + v[3 * D]) / 4,
               TOLERANCE_OP * 8);
}
END_TEST

/* B07 */
START_TEST(rope_refuses_odd_widths) {
    static const struct {
        int head_width;
        double fraction;
        const char *says; /* NULL: accepted */
    } cases[] = {{9, 1, "9 rotary"},  {7, 1, "7 rotary"}, {10, 0.25, "2.5 rotary"},
                 {10, 0, "0 rotary"}, {1, 1, "1 rotary"}, {4, 0.25, "1 rotary"},
                 {8, 0.25, NULL},     {10, 0.2, NULL},    {2, 1, NULL},
                 {64, 0.5, NULL},     {12, 0.5, NULL},    {30, 1.0 / 3, NULL},
                 {9, 2.0 / 3, NULL}}; /* thirds, as near as a double comes */
    const Encoding *rope = encoding_find("rope");
    for (size_t i = 0; i < COUNT(cases); i++) {
        Alone a;
        alone(&a, rope, 1, cases[i].head_width);
        small_option(rope->options, &a.options, "fraction", cases[i].fraction);
        const char *reason = rope->refuse(&a.shape);
        if (!cases[i].says)
            ck_assert_msg(!reason, "head width %d, fraction %g: %s", cases[i].head_width,
                          cases[i].fraction, reason);
        else
            ck_assert_msg(reason && strstr(reason, cases[i].says), "head width %d: %s",
                          cases[i].head_width, reason);
    }
}
END_TEST

/* B08: angles in double. A unit vector in the first channel of a pair turns into (cos, sin). */
START_TEST(rope_tables_are_precise) {
    Alone a;
    double x[32] = {0}, out[32], worst = 0;
    rope_alone(&a, 32, HALF);
    for (int p = 0; p < 2048; p++)
        for (size_t pair = 0; pair < 16; pair += 5) {
            x[pair] = 1;
            turn(&a, p, false, x, out);
            x[pair] = 0;
            const long double angle = (long double)p * powl(10000, -2 * (long double)pair / 32);
            worst = fmax(worst, (double)fabsl((long double)out[pair] - cosl(angle)));
            worst = fmax(worst, (double)fabsl((long double)out[pair + 16] - sinl(angle)));
        }
    ck_assert_msg(worst <= TOLERANCE_TABLE, "worst error %.3g", worst);
    near_value("angle", 1857, 1857 * table_of(encoding_find("rope"), &a, "frequency").values[1],
               1044.26784, 5e-6);
    x[0] = 1;
    turn(&a, 15962, false, x, out);
    near_value("cos", 15962, out[0], -0.908016, 5e-7);
}
END_TEST

START_TEST(rope_frequencies) {
    Alone a;
    rope_alone(&a, 32, HALF);
    static const double wanted[] = {1,           0.562341325,  0.316227766,  0.177827941, 0.1,
                                    0.056234133, 0.0316227766, 0.0177827941, 0.01};
    OneTable frequency = table_of(encoding_find("rope"), &a, "frequency");
    OneTable wavelength = table_of(encoding_find("rope"), &a, "wavelength");
    ck_assert_uint_eq(frequency.count, 16);
    for (size_t c = 0; c < COUNT(wanted); c++)
        near_value("frequency", c, frequency.values[c], wanted[c], 1e-9);
    for (size_t c = 0; c < 16; c++)
        near_value("turn", c, wavelength.values[c] * frequency.values[c], 2 * M_PI, 1e-12);
    near_value("longest wavelength", 15, wavelength.values[15], 35333, 0.5);
    ck_assert_ptr_nonnull(strstr(frequency.convention, "half"));
    /* The exponent has the rotary width, not the head's. */
    small_option(encoding_find("rope")->options, &a.options, "fraction", 0.25);
    OneTable quarter = table_of(encoding_find("rope"), &a, "frequency");
    ck_assert_uint_eq(quarter.count, 4);
    static const double of_eight[] = {1, 0.1, 0.01, 0.001};
    for (size_t c = 0; c < 4; c++)
        near_value("frequency", c, quarter.values[c], of_eight[c], 1e-15);
    double x[32], out[32];
    for (size_t c = 0; c < 32; c++) x[c] = (double)c + 1;
    turn(&a, 5, false, x, out);
    for (size_t c = 0; c < 32; c++) ck_assert((out[c] == x[c]) == (c >= 8));
}
END_TEST

/* B09 */
START_TEST(rope_backward_turns_back) {
    Alone a;
    double out[4];
    rope_alone(&a, 4, INTERLEAVED);
    turn(&a, 1, true, (double[]){1, 0, 0, 0}, out);
    static const double wanted[] = {0.540302306, -0.841470985, 0, 0};
    for (size_t c = 0; c < 4; c++)
        near_value("gradient", c, out[c], wanted[c], TOLERANCE(1e-7, 6e-10));
    for (int layout = HALF; layout <= INTERLEAVED; layout++) {
        double x[12], turned[12], back[12];
        rope_alone(&a, 12, layout);
        for (size_t c = 0; c < 12; c++) x[c] = (double)c - 4;
        turn(&a, 3.5, false, x, turned);
        turn(&a, 3.5, true, turned, back);
        for (size_t c = 0; c < 12; c++)
            near_value("there and back", c, back[c], x[c], TOLERANCE_OP * 4);
    }
}
END_TEST

/* ---- what an engine keeps between passes ----------------------------------------------------- */

static real *logits_at(Engine *engine, const Model *model, const int32_t *tokens, size_t length,
                       const double *positions) {
    real *logits = ALLOCATE(length * (size_t)model->shape.vocabulary, real);
    engine_forward(engine,
                   &(Batch){.items = 1, .length = length, .tokens = tokens, .positions = positions},
                   &(ModelOutput){.logits = logits});
    return logits;
}

/* B10: another offset is not answered from what was kept for the first. */
START_TEST(offsets_are_not_confused) {
    for (size_t e = 0; e < encoding_count; e++) {
        SmallModelOwner *owner = small_model_create(&(SmallModel){.encoding = encodings[e]});
        const Model *model = owner->model;
        static const int32_t tokens[] = {3, 1, 4, 1};
        static const double later[] = {7, 8, 9, 10};
        const size_t size = 4 * (size_t)model->shape.vocabulary * sizeof(real);
        Engine *engine = engine_create(owner->model), *fresh = engine_create(owner->model);
        real *first = logits_at(engine, model, tokens, 4, NULL);
        real *second = logits_at(engine, model, tokens, 4, later);
        real *third = logits_at(engine, model, tokens, 4, NULL);
        real *wanted = logits_at(fresh, model, tokens, 4, later);
        ck_assert_msg(!memcmp(third, first, size), "%s: offset 0 again", encodings[e]->name);
        ck_assert_msg(!memcmp(second, wanted, size), "%s: offset 7", encodings[e]->name);
        static const char *const absolute[] = {"sinusoidal", "learned", "tupe"};
        for (size_t n = 0; n < COUNT(absolute); n++)
            if (!strcmp(encodings[e]->name, absolute[n])) ck_assert(memcmp(second, first, size));
        real *all[] = {first, second, third, wanted};
        for (size_t i = 0; i < COUNT(all); i++) free(all[i]);
        engine_free(engine);
        engine_free(fresh);
        small_model_free(owner);
    }
}
END_TEST

/* B11, B24: lengths up and down; the same length gives the same bits, and memory is that of the
   longest, however many lengths there were. */
START_TEST(lengths_up_and_down) {
    enum { LONGEST = 2048 };
    gemm_start();
    int32_t *tokens = ALLOCATE(LONGEST, int32_t);
    for (size_t i = 0; i < LONGEST; i++) tokens[i] = (int32_t)(i * i % 7);
    for (size_t e = 0; e < encoding_count; e++) {
        SmallModelOwner *owner = small_model_create(&(SmallModel){.encoding = encodings[e],
                                                                  .layers = 1,
                                                                  .heads = 1,
                                                                  .head_width = 8,
                                                                  .trained_length = LONGEST});
        const Model *model = owner->model;
        Engine *engine = engine_create(owner->model);
        static const size_t lengths[] = {64, 512, 65, LONGEST, 64, 8, 33, 8};
        real *logits[COUNT(lengths)];
        for (size_t i = 0; i < COUNT(lengths); i++)
            logits[i] = logits_at(engine, model, tokens, lengths[i], NULL);
        const size_t row = (size_t)model->shape.vocabulary * sizeof(real);
        ck_assert_msg(!memcmp(logits[4], logits[0], 64 * row), "%s: 64", encodings[e]->name);
        ck_assert_msg(!memcmp(logits[7], logits[5], 8 * row), "%s: 8", encodings[e]->name);
        for (size_t i = 0; i < COUNT(lengths); i++) free(logits[i]);
        const size_t bytes = engine_bytes(engine);
        for (size_t length = 1; length <= 1000; length += length < 300 ? 1 : 50)
            free(logits_at(engine, model, tokens, length, NULL));
        ck_assert_msg(engine_bytes(engine) == bytes, "%s: %zu bytes, then %zu", encodings[e]->name,
                      bytes, engine_bytes(engine));
        engine_free(engine);
        small_model_free(owner);
    }
    free(tokens);
}
END_TEST

/* B12, B36: beyond the trained length an encoding is either defined, and finite, or says that it is
   not and why. The pass is run in both cases: nothing may be read outside a table. */
START_TEST(beyond_the_trained_length) {
    static const size_t lengths[] = {64, 65, 128, 700};
    gemm_start();
    int32_t tokens[700];
    for (size_t i = 0; i < 700; i++) tokens[i] = (int32_t)(i * i % 7);
    for (size_t e = 0; e < encoding_count; e++) {
        SmallModelOwner *owner = small_model_create(
            &(SmallModel){.encoding = encodings[e], .layers = 1, .heads = 2, .trained_length = 64});
        const Model *model = owner->model;
        const size_t vocabulary = (size_t)model->shape.vocabulary;
        Engine *engine = engine_create(owner->model);
        for (size_t l = 0; l < COUNT(lengths); l++) {
            const char *reason = model_defined(model, lengths[l]);
            if (!l) ck_assert_msg(!reason, "%s: %s", encodings[e]->name, reason);
            if (reason) check_text(encodings[e]->name, "reason", reason);
            real *logits = logits_at(engine, model, tokens, lengths[l], NULL);
            for (size_t i = 0; i < lengths[l] * vocabulary; i++)
                if (!isfinite(logits[i]))
                    ck_abort_msg("%s, length %zu: logit %zu", encodings[e]->name, lengths[l], i);
            free(logits);
        }
        real *logits = logits_at(engine, model, tokens, 2, (double[]){0, 5000});
        for (size_t i = 0; i < 2 * vocabulary; i++) ck_assert(isfinite(logits[i]));
        free(logits);
        engine_free(engine);
        small_model_free(owner);
    }
}
END_TEST

/* ---- sinusoidal ----------------------------------------------------------------------------- */

enum { PAPER, TENSOR2TENSOR };

static void sinusoid_alone(Alone *a, int width, int concatenated, int exponent) {
    const Encoding *sinusoidal = encoding_find("sinusoidal");
    alone(a, sinusoidal, 1, width);
    small_option(sinusoidal->options, &a->options, "scale", 1);
    small_option(sinusoidal->options, &a->options, "layout", concatenated);
    small_option(sinusoidal->options, &a->options, "exponent", exponent);
}

/* What is added to a row of zeros at a position. */
static void sinusoid(const Alone *a, double position, double *out) {
    const Encoding *sinusoidal = encoding_find("sinusoidal");
    const size_t width = (size_t)a->shape.width;
    Site site = {.shape = &a->shape, .length = 1, .positions = &position};
    real *table = ALLOCATE(sinusoidal->table_size(&a->shape, 1), real), *x = ALLOCATE(width, real);
    sinusoidal->begin(&site, table);
    site.table = table;
    sinusoidal->embed(&site, x);
    for (size_t c = 0; c < width; c++) out[c] = (double)x[c];
    free(table);
    free(x);
}

/* B30, B31 */
START_TEST(sinusoidal_values) {
    static const struct {
        int width;
        double position;
        size_t count;
        double wanted[6];
    } cases[] = {
        {4, 0, 4, {0, 1, 0, 1}},
        {4, 1, 4, {0.841470985, 0.540302306, 0.009999833, 0.999950000}},
        {6, 3, 6, {0.141120008, -0.989992497, 0.138798101, 0.990320699, 0.006463259, 0.999979113}},
        {512, 1, 4, {0.841470985, 0.540302306, 0.821856190, 0.569695009}},
        {5, 2, 5, {0.909297427, -0.416146837, 0.050216599, 0.998738351, 0.001261914}}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        Alone a;
        double out[512];
        sinusoid_alone(&a, cases[i].width, false, PAPER);
        sinusoid(&a, cases[i].position, out);
        for (size_t c = 0; c < cases[i].count; c++)
            near_value("sinusoid", c, out[c], cases[i].wanted[c], TOLERANCE(6.1e-8, 6e-10));
        /* the default scale, on top of what is there */
        Alone scaled;
        alone(&scaled, encoding_find("sinusoidal"), 1, cases[i].width);
        sinusoid(&scaled, cases[i].position, out);
        for (size_t c = 0; c < cases[i].count; c++)
            near_value("scaled", c, out[c], 0.05 * cases[i].wanted[c], TOLERANCE(1e-8, 6e-10));
    }
}
END_TEST

START_TEST(sinusoidal_norm_and_distance) {
    Alone a;
    double here[8], there[8];
    static const double positions[] = {7, 100};
    sinusoid_alone(&a, 8, false, PAPER);
    for (size_t p = 0; p < COUNT(positions); p++) {
        double square = 0, product = 0;
        sinusoid(&a, positions[p], here);
        sinusoid(&a, positions[p] + 5, there);
        for (size_t c = 0; c < 8; c++) square += here[c] * here[c], product += here[c] * there[c];
        near_value("square", p, square, 4, TOLERANCE_OP);
        near_value("product", p, product, 3.159982508, TOLERANCE(2e-6, 6e-10));
    }
}
END_TEST

/* B32: the conventions, by their frequencies and by their order of channels. */
START_TEST(sinusoidal_conventions) {
    const Encoding *sinusoidal = encoding_find("sinusoidal");
    static const double paper[] = {1, 0.1, 0.01, 0.001};
    static const double tensor2tensor[] = {1, 0.046415888, 0.002154435, 0.0001};
    for (int exponent = PAPER; exponent <= TENSOR2TENSOR; exponent++) {
        Alone a, b;
        double interleaved[8], concatenated[8];
        sinusoid_alone(&a, 8, false, exponent);
        sinusoid_alone(&b, 8, true, exponent);
        OneTable frequency = table_of(sinusoidal, &a, "frequency");
        ck_assert_uint_eq(frequency.count, 4);
        for (size_t t = 0; t < 4; t++)
            near_value("frequency", t, frequency.values[t],
                       exponent == PAPER ? paper[t] : tensor2tensor[t], 6e-10);
        sinusoid(&a, 13, interleaved);
        sinusoid(&b, 13, concatenated);
        for (size_t t = 0; t < 4; t++) {
            ck_assert(concatenated[t] == interleaved[2 * t]);
            ck_assert(concatenated[4 + t] == interleaved[2 * t + 1]);
            near_value("sine", t, interleaved[2 * t], sin(13 * frequency.values[t]),
                       TOLERANCE_TABLE);
            near_value("cosine", t, interleaved[2 * t + 1], cos(13 * frequency.values[t]),
                       TOLERANCE_TABLE);
        }
    }
    /* an odd width has a sine more, in either order */
    Alone odd, odd_concatenated;
    double x[5], y[5];
    sinusoid_alone(&odd, 5, false, PAPER);
    sinusoid_alone(&odd_concatenated, 5, true, PAPER);
    sinusoid(&odd, 2, x);
    sinusoid(&odd_concatenated, 2, y);
    static const size_t order[] = {0, 2, 4, 1, 3};
    for (size_t c = 0; c < 5; c++) ck_assert(y[c] == x[order[c]]);
}
END_TEST

/* The scale of tokens is that of their embedding, and of its gradient. */
START_TEST(sinusoidal_token_scale) {
    const Encoding *sinusoidal = encoding_find("sinusoidal");
    KindOptions options;
    option_defaults(sinusoidal->options, &options);
    SmallModelOwner *plain = small_model_create(
        &(SmallModel){.encoding = sinusoidal, .encoding_options = &options});
    small_option(sinusoidal->options, &options, "token_scale", 4);
    SmallModelOwner *scaled = small_model_create(
        &(SmallModel){.encoding = sinusoidal, .encoding_options = &options});
    SmallModelOwner *owners[] = {plain, scaled};
    Model *model = plain->model;
    const size_t table = (size_t)(model->shape.vocabulary * model->shape.width);
    for (size_t i = 0; i < table; i++) model->values[model->embedding + i] *= 4; /* exact */
    real *gradients[2];
    for (int n = 0; n < 2; n++) {
        SmallBatch *b = small_batch_create(owners[n]->model, 3, 8, 1);
        Engine *engine = engine_create(owners[n]->model);
        gradients[n] = ALLOCATE(model->count, real);
        engine_gradient(engine, &b->batch, 1, false, gradients[n], &b->output);
        engine_free(engine);
        small_batch_free(b);
    }
    for (size_t i = 0; i < model->count; i++) {
        const bool token = i >= model->embedding && i < model->embedding + table;
        ck_assert(gradients[1][i] == gradients[0][i] * (token ? 4 : 1));
    }
    for (int n = 0; n < 2; n++) {
        free(gradients[n]);
        small_model_free(owners[n]);
    }
}
END_TEST

/* ---- learned -------------------------------------------------------------------------------- */

enum { PAST_ERROR, PAST_CLAMP, PAST_INTERPOLATE, PAST_HIERARCHICAL, PAST_RANDOM };

/* Row m of the table is m in every channel, so that what is added tells the place. */
static void places(int past_end, size_t rows, size_t length, const double *positions,
                   double *place) {
    enum { WIDTH = 3 };
    const Encoding *learned = encoding_find("learned");
    Alone a;
    alone(&a, learned, 1, WIDTH);
    small_option(learned->options, &a.options, "past_end", past_end);
    small_option(learned->options, &a.options, "positions", (double)rows);
    real *table = ALLOCATE(rows * WIDTH, real), *x = ALLOCATE(length * WIDTH, real);
    double *own = ALLOCATE(length, double);
    for (size_t i = 0; i < rows * WIDTH; i++) table[i] = (real)(i / WIDTH);
    for (size_t i = 0; i < length * WIDTH; i++) x[i] = 1000;
    for (size_t i = 0; i < length; i++) own[i] = positions ? positions[i] : (double)i;
    const real *const parameters[] = {table};
    const Site site = {
        .shape = &a.shape, .parameters = parameters, .length = length, .positions = own};
    learned->embed(&site, x);
    for (size_t i = 0; i < length; i++) {
        place[i] = (double)x[i * WIDTH] - 1000;
        ck_assert(x[i * WIDTH + 1] == x[i * WIDTH] && x[i * WIDTH + 2] == x[i * WIDTH]);
    }
    /* Backward: the weights of a row sum to how often it was used, channel by channel. */
    real *gradient = ALLOCATE(rows * WIDTH, real), *gradients[] = {gradient};
    for (size_t i = 0; i < length * WIDTH; i++) x[i] = 1;
    learned->embed_backward(&site, x, 1, 2, gradients);
    for (size_t i = 0; i < rows * WIDTH; i++) ck_assert(i % WIDTH == 1 || gradient[i] == 0);
    learned->embed_backward(&site, x, 0, 1, gradients);
    learned->embed_backward(&site, x, 2, WIDTH, gradients);
    double sum = 0, moment = 0, places_sum = 0;
    for (size_t row = 0; row < rows; row++) {
        const double g = (double)gradient[row * WIDTH];
        ck_assert(gradient[row * WIDTH + 1] == gradient[row * WIDTH]);
        sum += g;
        moment += g * (double)row;
    }
    for (size_t i = 0; i < length; i++) places_sum += place[i];
    near_value("sum of weights", length, sum, (double)length, 1e-4);
    near_value("mean place", length, moment / (double)length, places_sum / (double)length, 1e-3);
    free(table);
    free(x);
    free(own);
    free(gradient);
}

START_TEST(learned_places) {
    double place[200];
    const double bound = TOLERANCE(7e-5, 1e-12); /* 1000 + place is what a float holds */
    places(PAST_ERROR, 64, 64, NULL, place);
    for (size_t i = 0; i < 64; i++) near_value("row", i, place[i], (double)i, 0);
    places(PAST_CLAMP, 64, 100, NULL, place);
    for (size_t i = 0; i < 100; i++) near_value("clamped", i, place[i], i < 64 ? (double)i : 63, 0);
    /* x = m (N - 1) / (length - 1): 127 tokens over 64 rows are half a row apart */
    places(PAST_INTERPOLATE, 64, 127, NULL, place);
    for (size_t i = 0; i < 127; i++) near_value("halves", i, place[i], (double)i / 2, bound);
    places(PAST_INTERPOLATE, 64, 200, NULL, place);
    for (size_t i = 0; i < 200; i++)
        near_value("stretched", i, place[i], (double)i * 63 / 199, bound);
    /* within the table nothing is stretched */
    places(PAST_INTERPOLATE, 64, 50, NULL, place);
    for (size_t i = 0; i < 50; i++) near_value("inside", i, place[i], (double)i, 0);
    places(PAST_INTERPOLATE, 1, 3, NULL, place);
    for (size_t i = 0; i < 3; i++) near_value("one row", i, place[i], 0, 0);
    /* hierarchical, row iN + j = j + a/(1 - a) i here, where row m is m: with a = 0.4 */
    places(PAST_HIERARCHICAL, 8, 64, NULL, place);
    for (size_t i = 0; i < 64; i++)
        near_value("two rows", i, place[i], (double)(i % 8) + (double)(i / 8) / 1.5, bound);
    /* given positions, whole and not, and past the end whatever the rule */
    static const double given[] = {0, 2.25, 62.5, 63, 5000};
    static const double wanted[] = {0, 2.25, 62.5, 63, 63};
    places(PAST_ERROR, 64, 5, given, place);
    for (size_t i = 0; i < 5; i++) near_value("given", i, place[i], wanted[i], bound);
}
END_TEST

/* B36 */
START_TEST(learned_says_where_it_ends) {
    const Encoding *learned = encoding_find("learned");
    Alone a;
    alone(&a, learned, 1, 4);
    EncodingParameter list[ENCODING_PARAMETERS];
    memset(list, 0, sizeof list);
    ck_assert_int_eq(learned->parameters(&a.shape, list), 1);
    ck_assert_uint_eq(list[0].dims[0], 64); /* the trained length */
    ck_assert(list[0].shared && list[0].counts_rows);
    ck_assert_ptr_null(learned->defined(&a.shape, 64, 63));
    const char *reason = learned->defined(&a.shape, 65, 64);
    ck_assert_ptr_nonnull(reason);
    static const char *const parts[] = {"64 positions", "length 65", "needs 65",
                                        "past_end",     "clamp",     "interpolate",
                                        "hierarchical", "random"};
    for (size_t i = 0; i < COUNT(parts); i++)
        ck_assert_msg(strstr(reason, parts[i]), "\"%s\" is not in: %s", parts[i], reason);
    small_option(learned->options, &a.options, "past_end", PAST_CLAMP);
    ck_assert_ptr_null(learned->defined(&a.shape, 65, 64));
    small_option(learned->options, &a.options, "past_end", PAST_INTERPOLATE);
    ck_assert_ptr_null(learned->defined(&a.shape, 65, 64));
    small_option(learned->options, &a.options, "past_end", PAST_RANDOM);
    ck_assert_ptr_null(learned->defined(&a.shape, 65, 64));
    small_option(learned->options, &a.options, "past_end", PAST_HIERARCHICAL);
    ck_assert_ptr_null(learned->defined(&a.shape, 4096, 4095));
    reason = learned->defined(&a.shape, 4097, 4096);
    ck_assert_msg(reason && strstr(reason, "64 * 64") && strstr(reason, "4097"), "%s", reason);
    ck_assert_ptr_null(learned->refuse(&a.shape));
    small_option(learned->options, &a.options, "alpha", 0.5);
    reason = learned->refuse(&a.shape);
    ck_assert_msg(reason && strstr(reason, "alpha = 0.5"), "%s", reason);
    small_option(learned->options, &a.options, "past_end", PAST_ERROR);
    small_option(learned->options, &a.options, "positions", 100);
    ck_assert_ptr_null(learned->defined(&a.shape, 65, 64));
    ck_assert_ptr_nonnull(learned->defined(&a.shape, 65, 100)); /* drawn positions */
}
END_TEST

/* What learned gives for positions 0 … length - 1 of a table of N rows, or (extended) the rows of a
   longer table that starts from it and holds -7 before. */
enum { OLD = 5, CHANNELS = 3 };
static void past(int past_end, double alpha, const real *table, size_t length, bool extended,
                 real *out) {
    const Encoding *learned = encoding_find("learned");
    Alone old, new;
    alone(&old, learned, 1, CHANNELS);
    alone(&new, learned, 1, CHANNELS);
    old.shape.trained_length = OLD;
    new.shape.trained_length = length;
    const real *const parameters[] = {table};
    double *positions = ALLOCATE(length, double);
    for (size_t i = 0; i < length; i++) positions[i] = (double)i;
    Alone *rule = extended ? &new : &old;
    small_option(learned->options, &rule->options, "past_end", past_end);
    small_option(learned->options, &rule->options, "alpha", alpha);
    real *z = ALLOCATE(learned->table_size(&old.shape, length), real);
    real *prepared = ALLOCATE(learned->prepared_size(&old.shape, length), real);
    const Site site = {.shape = &old.shape,
                       .parameters = parameters,
                       .length = length,
                       .positions = positions,
                       .table = z,
                       .prepared = prepared};
    for (size_t i = 0; i < length * CHANNELS; i++) out[i] = extended ? -7 : 0;
    if (extended) {
        learned->extend(&old.shape, &new.shape, 0, table, out);
    } else {
        learned->begin(&site, z);
        learned->prepare(&site, prepared);
        learned->embed(&site, out);
    }
    free(positions);
    free(z);
    free(prepared);
}

/* Su's decomposition in its own words: u_i = (p_i - a p_0) / (1 - a), row iN + j is
   a u_i + (1 - a) u_j. */
START_TEST(learned_hierarchy) {
    static const real table[OLD * CHANNELS] = {1, -2, 3, 5, 0, 2, 7, 8, -1, 4, 4, 9, -6, 2, 1};
    static const double alphas[] = {0.4, 0.2, 0.9};
    real out[OLD * OLD * CHANNELS];
    for (size_t a = 0; a < COUNT(alphas); a++) {
        const double alpha = alphas[a];
        past(PAST_HIERARCHICAL, alpha, table, OLD * OLD, false, out);
        for (size_t m = 0; m < OLD * OLD; m++)
            for (size_t c = 0; c < CHANNELS; c++) {
                const double first = (double)table[c];
                const double u =
                    ((double)table[m / OLD * CHANNELS + c] - alpha * first) / (1 - alpha);
                const double v =
                    ((double)table[m % OLD * CHANNELS + c] - alpha * first) / (1 - alpha);
                near_value("row", m, (double)out[m * CHANNELS + c], alpha * u + (1 - alpha) * v,
                           TOLERANCE(3e-5, 1e-12));
            }
    }
}
END_TEST

/* Rows past the end have the mean and the deviation of the table, and are the same every time. */
START_TEST(learned_random_rows) {
    enum { LENGTH = 20000 };
    static const real table[OLD * CHANNELS] = {1, -2, 3, 5, 0, 3, 7, 8, 3, 4, 4, 3, -6, 2, 3};
    static const double mean[] = {2.2, 2.4, 3}, square[] = {25.4 - 4.84, 17.6 - 5.76, 0};
    real *out = ALLOCATE(LENGTH * CHANNELS, real), *again = ALLOCATE(9 * CHANNELS, real);
    past(PAST_RANDOM, 0.4, table, LENGTH, false, out);
    past(PAST_RANDOM, 0.4, table, 9, false, again);
    ck_assert_mem_eq(out, table, sizeof table);
    ck_assert_mem_eq(out, again, 9 * CHANNELS * sizeof(real));
    const double n = LENGTH - OLD;
    for (size_t c = 0; c < CHANNELS; c++) {
        double sum = 0, squares = 0, lag = 0;
        for (size_t m = OLD; m < LENGTH; m++) {
            const double away = (double)out[m * CHANNELS + c] - mean[c];
            sum += away / n;
            squares += away * away / n;
            if (m > OLD) lag += away * ((double)out[(m - 1) * CHANNELS + c] - mean[c]) / n;
        }
        near_value("mean", c, sum, 0, 4 * sqrt(square[c] / n) + 1e-6);
        near_value("square", c, squares, square[c], 4 * square[c] * sqrt(2 / n) + 1e-6);
        near_value("product of neighbours", c, lag, 0, 4 * square[c] / sqrt(n) + 1e-6);
    }
    free(out);
    free(again);
}
END_TEST

/* A table that grows has the rows that the rule gave past its end; with "error" new rows stay. */
START_TEST(learned_grows) {
    enum { NEW = 9 };
    static const real table[OLD * CHANNELS] = {1, -2, 3, 5, 0, 2, 7, 8, -1, 4, 4, 9, -6, 2, 1};
    for (int past_end = PAST_ERROR; past_end <= PAST_RANDOM; past_end++) {
        real grown[NEW * CHANNELS], wanted[NEW * CHANNELS];
        past(past_end, 0.4, table, NEW, true, grown);
        past(past_end, 0.4, table, NEW, false, wanted);
        if (past_end != PAST_INTERPOLATE) ck_assert_mem_eq(grown, table, sizeof table);
        for (size_t c = OLD * CHANNELS; past_end == PAST_ERROR && c < COUNT(wanted); c++)
            wanted[c] = -7;
        for (size_t i = 0; i < COUNT(grown); i++)
            ck_assert_msg(grown[i] == wanted[i], "past_end %d: value %zu is %g, not %g", past_end,
                          i, (double)grown[i], (double)wanted[i]);
        if (past_end == PAST_INTERPOLATE) /* 9 rows over 5: every other one is between two */
            for (size_t i = 0; i < COUNT(grown); i++) {
                const size_t m = i / CHANNELS, c = i % CHANNELS;
                const real *near = table + m / 2 * CHANNELS + c;
                ck_assert(grown[i] == (m % 2 ? (near[0] + near[CHANNELS]) / 2 : near[0]));
            }
    }
}
END_TEST

/* B37: one step at length 8 touches rows 0 to 7. */
START_TEST(learned_rows_that_train) {
    SmallModelOwner *owner = small_model_create(
        &(SmallModel){.encoding = encoding_find("learned"), .trained_length = 20});
    Model *model = owner->model;
    SmallBatch *b = small_batch_create(model, 3, 8, 1);
    memset(b->scored, 1, 24);
    real *gradients = ALLOCATE(model->count, real);
    Engine *engine = engine_create(model);
    engine_gradient(engine, &b->batch, 1, false, gradients, &b->output);
    const Parameter *table = NULL;
    for (int i = 0; i < model->parameter_count; i++)
        if (model->parameters[i].counts_rows) table = &model->parameters[i];
    ck_assert_ptr_nonnull(table);
    ck_assert_str_eq(table->name, "encoding/learned/table");
    ck_assert_uint_eq(table->dims[0], 20);
    ck_assert(!table->decay);
    for (size_t row = 0; row < 20; row++) {
        bool touched = false;
        for (size_t c = 0; c < table->dims[1]; c++)
            touched |= gradients[table->offset + row * table->dims[1] + c] != 0;
        ck_assert_msg(touched == (row < 8), "row %zu", row);
    }
    free(gradients);
    engine_free(engine);
    small_batch_free(b);
    small_model_free(owner);
}
END_TEST

/* ---- positions ------------------------------------------------------------------------------ */

START_TEST(plain_positions) {
    const PositionSource *plain = position_source_find("plain");
    double positions[50];
    Rng rng = rng_stream(1, RNG_TEST, 0, 0);
    plain->draw(NULL, &rng, 50, positions);
    for (size_t i = 0; i < 50; i++) ck_assert(positions[i] == (double)i);
    ck_assert(plain->largest(NULL, 50) == 49 && !plain->drawn);
}
END_TEST

/* Sorted, distinct, whole, below N; and every subset is as likely as another: each value is drawn
   with length / N, and the smallest of n among N has mean (N - n) / (n + 1). */
START_TEST(randomized_positions) {
    enum { N = 30, LENGTH = 7, DRAWS = 20000 };
    const PositionSource *randomized = position_source_find("randomized");
    KindOptions options;
    option_defaults(randomized->options, &options);
    ck_assert(randomized->drawn && randomized->largest(&options, 5) == 2047); /* the paper's */
    small_option(randomized->options, &options, "N", N);
    ck_assert(randomized->largest(&options, 5) == N - 1);
    double count[N] = {0}, positions[N], first = 0;
    for (uint64_t draw = 0; draw < DRAWS; draw++) {
        Rng rng = rng_stream(1, RNG_TEST, 1, draw);
        randomized->draw(&options, &rng, LENGTH, positions);
        for (size_t i = 0; i < LENGTH; i++) {
            const double p = positions[i];
            if (p != floor(p) || p < 0 || p >= N || (i && p <= positions[i - 1]))
                ck_abort_msg("draw %llu: position %zu is %g", (unsigned long long)draw, i, p);
            count[(size_t)p]++;
        }
        first += positions[0];
    }
    const double share = (double)LENGTH / N; /* four deviations */
    for (size_t v = 0; v < N; v++)
        near_value("draws of", v, count[v], DRAWS * share, 4 * sqrt(DRAWS * share * (1 - share)));
    near_value("smallest", 0, first / DRAWS, (N - LENGTH) / (LENGTH + 1.0), 0.1);
    /* All of them, and one too many. */
    Rng rng = rng_stream(1, RNG_TEST, 2, 0);
    randomized->draw(&options, &rng, N, positions);
    for (size_t i = 0; i < N; i++) ck_assert(positions[i] == (double)i);
    ck_assert_ptr_null(randomized->refuse(&options, N));
    const char *reason = randomized->refuse(&options, N + 1);
    ck_assert_msg(reason && strstr(reason, "N = 30") && strstr(reason, "31"), "%s", reason);
}
END_TEST

/* Randomized positions of as many places as tokens are plain ones, to the bit. */
START_TEST(randomized_places_for_all) {
    enum { LENGTH = 12 };
    static const int32_t tokens[LENGTH] = {3, 1, 4, 1, 5, 2, 6, 5, 3, 5, 0, 2};
    const PositionSource *randomized = position_source_find("randomized");
    KindOptions options;
    option_defaults(randomized->options, &options);
    small_option(randomized->options, &options, "N", LENGTH);
    for (size_t e = 0; e < encoding_count; e++) {
        real *logits[2];
        size_t size = 0;
        for (int drawn = 0; drawn < 2; drawn++) {
            SmallModelOwner *owner = small_model_create(
                &(SmallModel){.encoding = encodings[e],
                              .positions = drawn ? randomized : position_source_find("plain"),
                              .position_options = drawn ? &options : NULL});
            Engine *engine = engine_create(owner->model);
            logits[drawn] = logits_at(engine, owner->model, tokens, LENGTH, NULL);
            size = LENGTH * (size_t)owner->model->shape.vocabulary * sizeof(real);
            engine_free(engine);
            small_model_free(owner);
        }
        ck_assert_msg(!memcmp(logits[0], logits[1], size), "%s", encodings[e]->name);
        free(logits[0]);
        free(logits[1]);
    }
}
END_TEST

/* Real numbers below N: sorted, spread evenly, and the k-th of n has mean N k / (n + 1). */
START_TEST(random_floats) {
    enum { N = 30, LENGTH = 7, DRAWS = 20000 };
    const PositionSource *source = position_source_find("random_floats");
    KindOptions options;
    option_defaults(source->options, &options);
    ck_assert(source->drawn && source->fractional);
    small_option(source->options, &options, "N", N);
    ck_assert(source->largest(&options, 5) == N);
    double count[N] = {0}, mean[LENGTH] = {0}, positions[LENGTH], fraction = 0;
    for (uint64_t draw = 0; draw < DRAWS; draw++) {
        Rng rng = rng_stream(1, RNG_TEST, 3, draw);
        source->draw(&options, &rng, LENGTH, positions);
        for (size_t i = 0; i < LENGTH; i++) {
            const double p = positions[i];
            if (!(p >= 0 && p < N && (!i || p > positions[i - 1])))
                ck_abort_msg("draw %llu: position %zu is %g", (unsigned long long)draw, i, p);
            count[(size_t)p]++;
            mean[i] += p / DRAWS;
            fraction += (p - floor(p)) / (DRAWS * LENGTH);
        }
    }
    const double all = (double)DRAWS * LENGTH, share = 1.0 / N; /* four deviations */
    for (size_t v = 0; v < N; v++)
        near_value("draws in", v, count[v], all * share, 4 * sqrt(all * share * (1 - share)));
    for (size_t i = 0; i < LENGTH; i++) /* of a Beta(k, n + 1 - k) */
        near_value("mean of", i, mean[i], N * (double)(i + 1) / (LENGTH + 1),
                   4 * N * sqrt((double)(i + 1) * (LENGTH - (double)i) / (LENGTH + 2)) /
                       (LENGTH + 1) / sqrt(DRAWS));
    near_value("fraction", 0, fraction, 0.5, 4 / sqrt(12 * all));
    ck_assert_ptr_null(source->refuse(&options, N));
    ck_assert_ptr_nonnull(source->refuse(&options, N + 1));
    for (size_t e = 0; e < encoding_count; e++) {
        KindOptions own;
        option_defaults(encodings[e]->options, &own);
        const ModelShape shape = {.layers = 1,
                                  .width = 16,
                                  .heads = 1,
                                  .vocabulary = 7,
                                  .causal = true,
                                  .encoding = encodings[e],
                                  .encoding_options = &own,
                                  .positions = source,
                                  .position_options = &options,
                                  .trained_length = 64};
        ck_assert_msg(!model_refuse(&shape) == !encodings[e]->needs_whole_positions, "%s",
                      encodings[e]->name);
    }
}
END_TEST

/* Every start is as likely as another, and the last token stays below N. */
START_TEST(shifted_starts) {
    enum { N = 10, LENGTH = 7, STARTS = N - LENGTH + 1, DRAWS = 20000 };
    const PositionSource *source = position_source_find("shifted");
    KindOptions options;
    option_defaults(source->options, &options);
    ck_assert(source->drawn && !source->fractional);
    small_option(source->options, &options, "N", N);
    ck_assert(source->largest(&options, 5) == N - 1);
    double count[STARTS] = {0}, positions[N];
    for (uint64_t draw = 0; draw < DRAWS; draw++) {
        Rng rng = rng_stream(1, RNG_TEST, 4, draw);
        source->draw(&options, &rng, LENGTH, positions);
        ck_assert(positions[0] >= 0 && positions[0] < STARTS);
        count[(size_t)positions[0]]++;
        for (size_t i = 0; i < LENGTH; i++)
            ck_assert(positions[i] == floor(positions[0]) + (double)i);
    }
    const double share = 1.0 / STARTS;
    for (size_t s = 0; s < STARTS; s++)
        near_value("starts at", s, count[s], DRAWS * share, 4 * sqrt(DRAWS * share * (1 - share)));
    Rng rng = rng_stream(1, RNG_TEST, 5, 0);
    source->draw(&options, &rng, N, positions);
    ck_assert(positions[0] == 0);
    ck_assert_ptr_null(source->refuse(&options, N));
    ck_assert_ptr_nonnull(source->refuse(&options, N + 1));
}
END_TEST

/* Drawn positions are those of the stream of (seed, step, layer, item): another item, step or layer
   has others, and who computes them does not matter. Seen through rope's q of each layer. */
START_TEST(drawn_positions_are_keyed) {
    static const char *const sources[] = {"randomized", "random_floats", "shifted"};
    enum { LENGTH = 6, HEADS = 1, D = 4, ITEMS = 2, SIZE = LENGTH * D };
    gemm_start();
    SmallModelOwner *owner =
        small_model_create(&(SmallModel){.encoding = encoding_find("rope"),
                                         .positions = position_source_find(sources[_i]),
                                         .heads = HEADS,
                                         .head_width = D});
    static const int32_t tokens[ITEMS * LENGTH] = {0}; /* the same token everywhere */
    Engine *engine = engine_create(owner->model);
    real q[4][2][ITEMS * SIZE];
    static const struct {
        uint64_t step, first_item;
        int64_t seed;
    } passes[] = {{1, 0, 1}, {1, 1, 1}, {2, 0, 1}, {1, 0, 2}};
    for (size_t p = 0; p < COUNT(passes); p++) {
        ModelDump dump = {.q = {q[p][0], q[p][1]}};
        engine_forward(engine,
                       &(Batch){.items = ITEMS,
                                .length = LENGTH,
                                .tokens = tokens,
                                .seed = passes[p].seed,
                                .step = passes[p].step,
                                .first_item = passes[p].first_item},
                       &(ModelOutput){.dump = &dump});
    }
    const size_t size = SIZE * sizeof(real);
    ck_assert(memcmp(q[0][0], q[0][0] + SIZE, size)); /* items */
    ck_assert_mem_eq(q[1][0], q[0][0] + SIZE, size);  /* item 1 is item 1 */
    ck_assert(memcmp(q[2][0], q[0][0], size));        /* steps */
    ck_assert(memcmp(q[3][0], q[0][0], size));        /* seeds */
    /* Each layer turns by positions of its own. Of equal tokens every layer sees equal rows, so
       that its q is one vector, turned; pair 0 is channels 0 and 2. */
    for (size_t layer = 0; layer < 2; layer++) {
        const double *positions = engine->positions + layer * ITEMS * LENGTH;
        double x[SIZE];
        for (size_t i = 0; i < SIZE; i++) x[i] = (double)q[3][layer][i];
        ck_assert(!layer || memcmp(positions, engine->positions, LENGTH * sizeof(double)));
        for (size_t i = 1; i < LENGTH; i++) {
            const double angle = positions[i] - positions[0];
            near_value("turned", i, x[i * D], x[0] * cos(angle) - x[2] * sin(angle),
                       TOLERANCE_OP * 4);
        }
    }
    engine_free(engine);
    small_model_free(owner);
}
END_TEST

/* All N of N: randomized positions are plain ones, for every encoding. */
START_TEST(randomized_to_the_brim_is_plain) {
    enum { LENGTH = 40 };
    gemm_start();
    const PositionSource *randomized = position_source_find("randomized");
    KindOptions options;
    option_defaults(randomized->options, &options);
    small_option(randomized->options, &options, "N", LENGTH);
    real *logits[2];
    size_t count = 0;
    for (int drawn = 0; drawn < 2; drawn++) {
        SmallModelOwner *owner =
            small_model_create(&(SmallModel){.encoding = encodings[_i],
                                             .positions = drawn ? randomized : NULL,
                                             .position_options = drawn ? &options : NULL});
        SmallBatch *b = small_batch_create(owner->model, 2, LENGTH, 1);
        count = 2 * LENGTH * (size_t)owner->model->shape.vocabulary;
        logits[drawn] = ALLOCATE(count, real);
        b->output.logits = logits[drawn];
        Engine *engine = engine_create(owner->model);
        engine_forward(engine, &b->batch, &b->output);
        b->output.logits = NULL;
        engine_free(engine);
        small_batch_free(b);
        small_model_free(owner);
    }
    for (size_t i = 0; i < count; i++)
        near_value(encodings[_i]->name, i, (double)logits[1][i], (double)logits[0][i],
                   TOLERANCE_LOGITS);
    free(logits[0]);
    free(logits[1]);
}
END_TEST

/* Heads of 64, base 10000, 64 tokens: how many of the 32 pairs never turn a quarter, or once. */
START_TEST(rope_pairs_that_never_turn) {
    Alone a;
    alone(&a, encoding_find("rope"), 1, 64);
    const OneTable wavelength = table_of(encoding_find("rope"), &a, "wavelength");
    int quarter = 0, once = 0;
    for (size_t c = 0; c < wavelength.count; c++) {
        quarter += wavelength.values[c] > 4 * 64;
        once += wavelength.values[c] > 64;
    }
    ck_assert_uint_eq(wavelength.count, 32);
    ck_assert_int_eq(quarter, 19);
    ck_assert_int_eq(once, 23);
}
END_TEST

Suite *suite_encodings(void);
Suite *suite_encodings(void) {
    Suite *suite = suite_create("encodings");
    TCase *tests = tcase_create("encodings");
    tcase_add_test(tests, registry);
    tcase_add_test(tests, hooks_come_in_pairs);
    tcase_add_test(tests, what_an_encoding_needs);
    tcase_add_test(tests, tables);
    tcase_add_test(tests, rope_values);
    tcase_add_test(tests, rope_at_position_zero_and_along_tokens);
    tcase_add_test(tests, rope_scores_by_distance);
    tcase_add_test(tests, rope_keeps_the_norm);
    tcase_add_test(tests, rope_leaves_values_alone);
    tcase_add_test(tests, rope_refuses_odd_widths);
    tcase_add_test(tests, rope_tables_are_precise);
    tcase_add_test(tests, rope_frequencies);
    tcase_add_test(tests, rope_backward_turns_back);
    tcase_add_test(tests, offsets_are_not_confused);
    tcase_add_test(tests, lengths_up_and_down);
    tcase_add_test(tests, beyond_the_trained_length);
    tcase_add_test(tests, sinusoidal_values);
    tcase_add_test(tests, sinusoidal_norm_and_distance);
    tcase_add_test(tests, sinusoidal_conventions);
    tcase_add_test(tests, sinusoidal_token_scale);
    tcase_add_test(tests, learned_places);
    tcase_add_test(tests, learned_says_where_it_ends);
    tcase_add_test(tests, learned_hierarchy);
    tcase_add_test(tests, learned_random_rows);
    tcase_add_test(tests, learned_grows);
    tcase_add_test(tests, learned_rows_that_train);
    tcase_add_test(tests, plain_positions);
    tcase_add_test(tests, randomized_positions);
    tcase_add_test(tests, randomized_places_for_all);
    tcase_add_test(tests, random_floats);
    tcase_add_test(tests, shifted_starts);
    tcase_add_loop_test(tests, drawn_positions_are_keyed, 0, 3);
    tcase_add_loop_test(tests, randomized_to_the_brim_is_plain, 0, (int)encoding_count);
    tcase_add_test(tests, rope_pairs_that_never_turn);
    suite_add_tcase(suite, tests);
    return suite;
}

/* The generator against published vectors, the mapping from a stream's name to its numbers against
   a second implementation, and the distributions against theory. Seeds are fixed; bounds are five
   standard deviations unless a comment says otherwise. */
#include "src/base.h"
#include "src/rng.h"

#include <check.h>
#include <math.h>
#include <string.h>

enum { SEED = 20240 };

/* kat_vectors of Random123 1.14, the lines "philox4x32 10": counter, key, answer. */
static const struct {
    uint32_t counter[4], key[2], answer[4];
} known[] = {
    {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
    {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
     {0xffffffff, 0xffffffff},
     {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
    {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
     {0xa4093822, 0x299f31d0},
     {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
};
enum { KNOWN = sizeof known / sizeof *known };

/* Philox4x32-10 as Salmon et al. 2011 write it, section 3.3. */
static void philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]) {
    uint32_t c[4], k[2];
    memcpy(c, counter, sizeof c);
    memcpy(k, key, sizeof k);
    for (int round = 0; round < 10; round++) {
        uint64_t left = (uint64_t)0xD2511F53 * c[0], right = (uint64_t)0xCD9E8D57 * c[2];
        uint32_t next[4] = {(uint32_t)(right >> 32) ^ c[1] ^ k[0], (uint32_t)right,
                            (uint32_t)(left >> 32) ^ c[3] ^ k[1], (uint32_t)left};
        memcpy(c, next, sizeof c);
        k[0] += 0x9E3779B9; /* the golden ratio */
        k[1] += 0xBB67AE85; /* the square root of 3, less 1 */
    }
    memcpy(out, c, sizeof c);
}

START_TEST(published_vectors) {
    Rng rng = {.used = 4};
    memcpy(rng.counter, known[_i].counter, sizeof rng.counter);
    memcpy(rng.key, known[_i].key, sizeof rng.key);
    uint32_t other[4];
    philox(known[_i].counter, known[_i].key, other);
    for (int word = 0; word < 4; word++) {
        ck_assert_uint_eq(rng_bits(&rng), known[_i].answer[word]);
        ck_assert_uint_eq(other[word], known[_i].answer[word]);
    }
}
END_TEST

START_TEST(name_of_a_stream_decides_counter_and_key) {
    static const struct {
        int64_t seed;
        RngPurpose purpose;
        uint64_t step, item;
        uint32_t key[2], counter[3]; /* item, low word of step, high word of step and purpose */
    } streams[] = {
        {0, RNG_TEST, 0, 0, {0, 0}, {0, 0, 9}},
        {7, RNG_TRAIN, 5, 3, {7, 0}, {3, 5, 2}},
        {-1, RNG_INIT, 1, 0, {0xffffffff, 0xffffffff}, {0, 1, 1}},
        {INT64_C(0x123456789abcdef0),
         RNG_EVALUATE,
         UINT64_C(0x00fedcba98765432),
         0xffffffff,
         {0x9abcdef0, 0x12345678},
         {0xffffffff, 0x98765432, 0xfedcba03}},
    };
    for (size_t i = 0; i < sizeof streams / sizeof *streams; i++) {
        Rng rng = rng_stream(streams[i].seed, streams[i].purpose, streams[i].step, streams[i].item);
        for (uint32_t block = 0; block < 3; block++) {
            uint32_t counter[4] = {block, streams[i].counter[0], streams[i].counter[1],
                                   streams[i].counter[2]};
            uint32_t expected[4];
            philox(counter, streams[i].key, expected);
            for (int word = 0; word < 4; word++) ck_assert_uint_eq(rng_bits(&rng), expected[word]);
        }
    }
}
END_TEST

START_TEST(streams_differ_and_do_not_correlate) {
    /* The first is compared with neighbours that differ from it in one part of the name. */
    enum { STREAMS = 7, DRAWS = 100000 };
    Rng streams[STREAMS] = {
        rng_stream(SEED, RNG_TEST, 1, 0),
        rng_stream(SEED + 1, RNG_TEST, 1, 0),
        rng_stream(SEED + (INT64_C(1) << 32), RNG_TEST, 1, 0),
        rng_stream(SEED, RNG_VALIDATE, 1, 0),
        rng_stream(SEED, RNG_TEST, 2, 0),
        rng_stream(SEED, RNG_TEST, 1 + (UINT64_C(1) << 32), 0),
        rng_stream(SEED, RNG_TEST, 1, 1),
    };
    double products[STREAMS] = {0}, lagged = 0, before = 0;
    for (int draw = 0; draw < DRAWS; draw++) {
        double first = rng_uniform(&streams[0]) - 0.5;
        for (int s = 1; s < STREAMS; s++) products[s] += first * (rng_uniform(&streams[s]) - 0.5);
        lagged += first * before;
        before = first;
    }
    double bound = 5 * sqrt(DRAWS) / 12; /* the variance of a product is 1/144 */
    for (int s = 1; s < STREAMS; s++) ck_assert_double_lt(fabs(products[s]), bound);
    ck_assert_double_lt(fabs(lagged), bound);
}
END_TEST

START_TEST(names_out_of_range_are_refused) {
    static const struct {
        uint64_t step, item;
    } wrong[] = {{UINT64_C(1) << 56, 0}, {0, UINT64_C(1) << 32}};
    rng_stream(SEED, RNG_TEST, wrong[_i].step, wrong[_i].item);
}
END_TEST

START_TEST(uniform_takes_53_bits) {
    /* Words of the first published vector: (w0 >> 5) * 2^26 + (w1 >> 6), in units of 2^-53. */
    Rng rng = {.used = 4};
    ck_assert_double_eq(rng_uniform(&rng),
                        (0x6627e8d5 >> 5) * 0x1p-27 + (0xe169c58d >> 6) * 0x1p-53);
    ck_assert_double_eq(rng_uniform(&rng),
                        (0xbc57ac4c >> 5) * 0x1p-27 + (0x9b00dbd8 >> 6) * 0x1p-53);

    enum { DRAWS = 200000, CELLS = 64 };
    rng = rng_stream(SEED, RNG_TEST, 0, 0);
    double sum = 0, squares = 0, cells[CELLS] = {0};
    int odd = 0;
    for (int i = 0; i < DRAWS; i++) {
        double x = rng_uniform(&rng);
        ck_assert(x >= 0 && x < 1);
        sum += x;
        squares += x * x;
        cells[(int)(x * CELLS)]++;
        odd += (int)((uint64_t)(x * 0x1p53) & 1);
    }
    ck_assert_double_eq_tol(sum / DRAWS, 0.5, 5 * sqrt(1.0 / 12 / DRAWS));
    ck_assert_double_eq_tol(squares / DRAWS, 1.0 / 3, 5 * sqrt(4.0 / 45 / DRAWS));
    ck_assert_double_eq_tol(odd, DRAWS / 2.0, 5 * sqrt(DRAWS / 4.0)); /* the last bit is alive */
    double chi_square = 0, mean = (double)DRAWS / CELLS;
    for (int i = 0; i < CELLS; i++) chi_square += pow(cells[i] - mean, 2) / mean;
    ck_assert_double_lt(chi_square, CELLS - 1 + 5 * sqrt(2.0 * (CELLS - 1)));
}
END_TEST

START_TEST(normal_has_the_moments_of_a_gaussian) {
    /* Box-Muller on the two uniforms of the first published vector. */
    Rng rng = {.used = 4}, same = {.used = 4};
    double radius = sqrt(-2 * log1p(-rng_uniform(&same)));
    ck_assert_double_eq_tol(rng_normal(&rng), radius * cos(2 * M_PI * rng_uniform(&same)), 1e-14);

    enum { DRAWS = 200000 };
    rng = rng_stream(SEED, RNG_TEST, 1, 0);
    double power[5] = {0};
    int outside = 0;
    for (int i = 0; i < DRAWS; i++) {
        double x = rng_normal(&rng);
        for (int p = 1; p <= 4; p++) power[p] += pow(x, p) / DRAWS;
        outside += fabs(x) > 1.959963984540054;
    }
    /* The variance of x^p is the moment of order 2p less the square of that of order p. */
    ck_assert_double_eq_tol(power[1], 0, 5 * sqrt(1.0 / DRAWS));
    ck_assert_double_eq_tol(power[2], 1, 5 * sqrt(2.0 / DRAWS));
    ck_assert_double_eq_tol(power[3], 0, 5 * sqrt(15.0 / DRAWS));
    ck_assert_double_eq_tol(power[4], 3, 5 * sqrt(96.0 / DRAWS));
    ck_assert_double_eq_tol(outside, 0.05 * DRAWS, 5 * sqrt(0.05 * 0.95 * DRAWS));
}
END_TEST

START_TEST(below_has_no_bias) {
    enum { DRAWS = 60000 };
    Rng rng = rng_stream(SEED, RNG_TEST, 2, 0);
    for (int i = 0; i < 100; i++) ck_assert_uint_eq(rng_below(&rng, 1), 0);

    double faces[6] = {0}, chi_square = 0;
    for (int i = 0; i < DRAWS; i++) {
        uint64_t face = rng_below(&rng, 6);
        ck_assert_uint_lt(face, 6);
        faces[face]++;
    }
    for (int i = 0; i < 6; i++) chi_square += pow(faces[i] - DRAWS / 6.0, 2) / (DRAWS / 6.0);
    ck_assert_double_lt(chi_square, 5 + 5 * sqrt(2.0 * 5));

    /* Here 64 random bits mod the bound would fall below 2^62 half of the time, not a third. */
    uint64_t bound = UINT64_C(3) << 62;
    int low = 0;
    for (int i = 0; i < DRAWS; i++) {
        uint64_t draw = rng_below(&rng, bound);
        ck_assert(draw < bound);
        low += draw < UINT64_C(1) << 62;
    }
    ck_assert_double_eq_tol(low, DRAWS / 3.0, 5 * sqrt(DRAWS * 2.0 / 9));
}
END_TEST

START_TEST(below_zero_is_refused) {
    Rng rng = rng_stream(SEED, RNG_TEST, 0, 0);
    rng_below(&rng, 0);
}
END_TEST

START_TEST(shuffle_makes_every_order_equally_often) {
    enum { DRAWS = 48000, ORDERS = 24 };
    Rng rng = rng_stream(SEED, RNG_TEST, 3, 0);
    double seen[256] = {0}, chi_square = 0;
    for (int i = 0; i < DRAWS; i++) {
        int32_t v[4] = {0, 1, 2, 3};
        rng_shuffle(&rng, v, 4);
        seen[v[0] << 6 | v[1] << 4 | v[2] << 2 | v[3]]++;
    }
    int orders = 0;
    double permutations = 0;
    for (int code = 0; code < 256; code++) {
        if (!seen[code]) continue;
        int members =
            1 << (code >> 6) | 1 << (code >> 4 & 3) | 1 << (code >> 2 & 3) | 1 << (code & 3);
        ck_assert_int_eq(members, 15);
        orders++;
        permutations += seen[code];
        chi_square += pow(seen[code] - DRAWS / ORDERS, 2) / (DRAWS / ORDERS);
    }
    ck_assert_int_eq(orders, ORDERS);
    ck_assert_double_eq(permutations, DRAWS);
    ck_assert_double_lt(chi_square, ORDERS - 1 + 5 * sqrt(2.0 * (ORDERS - 1)));

    int32_t alone[2] = {41, 42};
    rng_shuffle(&rng, alone, 0);
    rng_shuffle(&rng, alone, 1);
    ck_assert_int_eq(alone[0], 41);
    ck_assert_int_eq(alone[1], 42);
}
END_TEST

START_TEST(choose_makes_every_arrangement_equally_often) {
    enum { DRAWS = 40000, ARRANGEMENTS = 20 }; /* ordered pairs of different values below 5 */
    Rng rng = rng_stream(SEED, RNG_TEST, 4, 0);
    double seen[5][5] = {{0}}, chi_square = 0;
    for (int i = 0; i < DRAWS; i++) {
        int32_t v[2];
        rng_choose(&rng, 2, 5, v);
        ck_assert(v[0] >= 0 && v[0] < 5 && v[1] >= 0 && v[1] < 5 && v[0] != v[1]);
        seen[v[0]][v[1]]++;
    }
    for (int i = 0; i < 25; i++)
        if (i / 5 != i % 5)
            chi_square +=
                pow(seen[i / 5][i % 5] - DRAWS / ARRANGEMENTS, 2) / (DRAWS / ARRANGEMENTS);
    ck_assert_double_lt(chi_square, ARRANGEMENTS - 1 + 5 * sqrt(2.0 * (ARRANGEMENTS - 1)));
}
END_TEST

START_TEST(choosing_all_is_a_permutation) {
    enum { COUNT = 300 };
    Rng rng = rng_stream(SEED, RNG_TEST, 5, 0);
    int32_t values[COUNT + 1];
    bool seen[COUNT] = {false};
    int fixed = 0;
    values[COUNT] = -7;
    rng_choose(&rng, COUNT, COUNT, values);
    for (int i = 0; i < COUNT; i++) {
        ck_assert(values[i] >= 0 && values[i] < COUNT && !seen[values[i]]);
        seen[values[i]] = true;
        fixed += values[i] == i;
    }
    ck_assert_int_lt(fixed, 8); /* one on average, Poisson: P(8 or more) = 1e-5 */
    ck_assert_int_eq(values[COUNT], -7);
    rng_choose(&rng, 0, 0, values + COUNT);
    ck_assert_int_eq(values[COUNT], -7);
}
END_TEST

START_TEST(choosing_too_many_is_refused) {
    int32_t values[4];
    Rng rng = rng_stream(SEED, RNG_TEST, 0, 0);
    rng_choose(&rng, 4, 3, values);
}
END_TEST

START_TEST(hash_is_folded_fnv_1a) {
    /* The authors' vectors of 64-bit FNV-1a. */
    static const struct {
        const char *text;
        uint64_t hash;
    } vectors[] = {
        {"", 0xcbf29ce484222325}, {"a", 0xaf63dc4c8601ec8c}, {"foobar", 0x85944171f73967e8}};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
        ck_assert_uint_eq(rng_hash(vectors[i].text),
                          (vectors[i].hash & 0xffffffffffffff) ^ (vectors[i].hash >> 56));
    rng_stream(SEED, RNG_INIT, rng_hash("layer0/attention/query"), 0); /* a hash fits a step */
}
END_TEST

Suite *suite_rng(void);

Suite *suite_rng(void) {
    Suite *suite = suite_create("rng");
    TCase *streams = tcase_create("streams");
    tcase_add_loop_test(streams, published_vectors, 0, KNOWN);
    tcase_add_test(streams, name_of_a_stream_decides_counter_and_key);
    tcase_add_test(streams, streams_differ_and_do_not_correlate);
    tcase_add_loop_exit_test(streams, names_out_of_range_are_refused, EXIT_INTERNAL, 0, 2);
    tcase_add_test(streams, hash_is_folded_fnv_1a);
    suite_add_tcase(suite, streams);

    TCase *draws = tcase_create("draws");
    tcase_add_test(draws, uniform_takes_53_bits);
    tcase_add_test(draws, normal_has_the_moments_of_a_gaussian);
    tcase_add_test(draws, below_has_no_bias);
    tcase_add_exit_test(draws, below_zero_is_refused, EXIT_INTERNAL);
    tcase_add_test(draws, shuffle_makes_every_order_equally_often);
    tcase_add_test(draws, choose_makes_every_arrangement_equally_often);
    tcase_add_test(draws, choosing_all_is_a_permutation);
    tcase_add_exit_test(draws, choosing_too_many_is_refused, EXIT_INTERNAL);
    suite_add_tcase(suite, draws);
    return suite;
}

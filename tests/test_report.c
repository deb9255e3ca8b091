/* report: statistics against scipy, tables and progress as exact text. */
#include <check.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "src/bench.h"
#include "src/report/lengths.h"
#include "src/report/progress.h"
#include "src/report/statistics.h"
#include "src/report/table.h"
#include "src/report/terminal.h"
#include "src/utf8.h"
#include "tests/vectors/statistics.h"

#define NOT_A_NUMBER ((double)NAN)
#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ---- statistics ----------------------------------------------------------------------- */

/* python3 -c 'import scipy.stats as s; print(s.t.isf(tail, freedom), s.norm.isf(tail))', 1.17 */
static const struct {
    double tail, freedom, value;
} quantiles[] = {
    {0.025, 1, 12.706204736174705},       {0.025, 2, 4.302652729749464},
    {0.025, 4, 2.7764451051977943},       {0.025, 9, 2.2621571627982053},
    {0.025, 30, 2.042272456301238},       {0.025, 1000, 1.9623390808264085},
    {0.005, 4, 4.604094871349993},        {0.1, 3, 1.6377443536962089},
    {0.25, 2.5, 0.7850136829922992},      {0.0005, 1, 636.6192487687196},
    {0.025, 1e6, 1.9599663568141072},     {0.025, HUGE_VAL, 1.9599639845400545},
    {0.005, HUGE_VAL, 2.575829303548901}, {0.1, HUGE_VAL, 1.2815515655446004},
};

START_TEST(student_quantiles) {
    double value = statistics_student(quantiles[_i].tail, quantiles[_i].freedom);
    /* lgamma of large arguments costs digits. */
    double tolerance =
        quantiles[_i].freedom > 1e5 && isfinite(quantiles[_i].freedom) ? 1e-8 : 1e-11;
    ck_assert_double_eq_tol(value / quantiles[_i].value, 1, tolerance);
}
END_TEST

static void assert_interval(Interval interval, double low, double high) {
    ck_assert_double_eq_tol(interval.low, low, 1e-12);
    ck_assert_double_eq_tol(interval.high, high, 1e-12);
}

/* x = [.91, .87, .95, .9, .99]; np.mean(x), np.std(x, ddof=1), s.t.interval(.95, 4, np.mean(x),
   s.sem(x)) */
START_TEST(means) {
    static const double x[] = {0.91, 0.87, 0.95, 0.9, 0.99};
    ck_assert_double_eq_tol(statistics_mean(5, x), 0.924, 1e-15);
    ck_assert_double_eq_tol(statistics_deviation(5, x), 0.04669047011971499, 1e-15);
    assert_interval(interval_mean(5, x, 0.95), 0.8660261241931414, 0.9819738758068587);
    ck_assert(isnan(statistics_mean(0, x)));
    ck_assert(isnan(statistics_deviation(1, x)));
    ck_assert(isnan(interval_mean(1, x, 0.95).low));
}
END_TEST

/* s.binomtest(k, n).proportion_ci(.95, 'wilson') */
START_TEST(shares) {
    assert_interval(interval_share(0, 64, 0.95), 0, 0.05662405979280534);
    assert_interval(interval_share(64, 64, 0.95), 0.9433759402071946, 1);
    assert_interval(interval_share(1, 10, 0.95), 0.017876213095072896, 0.4041500267952385);
    assert_interval(interval_share(50, 64, 0.95), 0.6656721604337418, 0.8649768059328052);
    assert_interval(interval_share(8123, 8192, 0.95), 0.989354834738262, 0.9933386495691926);
    ck_assert(interval_share(64, 64, 0.95).high == 1 && interval_share(0, 64, 0.95).low == 0);
    ck_assert(isnan(interval_share(0, 0, 0.95).low));
}
END_TEST

/* r, n = np.array([10,8,9,3,10,7.]), np.array([10,10,12,6,10,8.]); N = n.sum(); p = r.sum() / N
   e = p*(1-p) / (6/5*((r-p*n)**2).sum()/N**2) * (s.norm.isf(.025) / s.t.isf(.025, 5))**2
   z = s.norm.isf(.025); (p + z*z/2/e) / (1 + z*z/e) -+ z/(1 + z*z/e)*np.sqrt(p*(1-p)/e + z*z/4/e/e)
 */
START_TEST(clustered_shares) {
    static const int64_t right[] = {10, 8, 9, 3, 10, 7}, trials[] = {10, 10, 12, 6, 10, 8};
    assert_interval(interval_clustered(6, right, trials, 0.95), 0.6222088952131074,
                    0.943048172033644);

    /* All right: a cluster is a trial. */
    Interval whole = interval_clustered(6, trials, trials, 0.95);
    Interval six = interval_share(6, 6, 0.95);
    assert_interval(whole, six.low, 1);
    /* Clusters without a spread: at most as narrow as independent trials. */
    static const int64_t half[] = {5, 5, 5}, ten[] = {10, 10, 10};
    Interval thirty = interval_share(15, 30, 0.95);
    assert_interval(interval_clustered(3, half, ten, 0.95), thirty.low, thirty.high);
    ck_assert(isnan(interval_clustered(0, right, trials, 0.95).high));
}
END_TEST

START_TEST(student_probabilities) {
    for (size_t i = 0; i < COUNT(golden_student_p); i += 3) {
        const double *row = &golden_student_p[i];
        ck_assert_double_eq_tol(statistics_student_p(row[0], row[1]) / row[2], 1, 1e-11);
    }
    ck_assert_double_eq(statistics_student_p(0, 3), 1);
    ck_assert_double_eq(statistics_student_p(-HUGE_VAL, 3), 0);
    ck_assert(isnan(statistics_student_p(NOT_A_NUMBER, 3)));
}
END_TEST

START_TEST(pairs) {
#define PAIRS(n)                                                                                   \
    { n, golden_pairs_##n##_a, golden_pairs_##n##_b, golden_pairs_##n }
    static const struct {
        size_t n;
        const double *a, *b, *expected;
    } samples[] = {PAIRS(2), PAIRS(3), PAIRS(5), PAIRS(12)};
    for (size_t i = 0; i < COUNT(samples); i++) {
        double difference[12];
        for (size_t k = 0; k < samples[i].n; k++) difference[k] = samples[i].a[k] - samples[i].b[k];
        MeanTest test = statistics_test(samples[i].n, difference);
        ck_assert_double_eq_tol(test.t, samples[i].expected[0], 1e-12);
        ck_assert_double_eq_tol(test.p, samples[i].expected[1], 1e-12);
        assert_interval(interval_mean(samples[i].n, difference, 0.95), samples[i].expected[2],
                        samples[i].expected[3]);
    }
    static const double same[] = {0.25, 0.25, 0.25}, none[] = {0, 0, 0};
    ck_assert_double_eq(statistics_test(3, same).p, 0);
    ck_assert_double_eq(statistics_test(3, none).p, 1);
    ck_assert(isnan(statistics_test(1, same).p) && isnan(statistics_test(0, same).mean));
    ck_assert_double_eq(statistics_test(1, same).mean, 0.25);
}
END_TEST

static void assert_holm(size_t n, const double *p, const double *expected) {
    double adjusted[64];
    statistics_holm(n, p, adjusted);
    for (size_t i = 0; i < n; i++) ck_assert_double_eq_tol(adjusted[i], expected[i], 1e-15);
}

START_TEST(holm) {
    assert_holm(COUNT(golden_p_few), golden_p_few, golden_holm_few);
    assert_holm(COUNT(golden_p_one), golden_p_one, golden_holm_one);
    assert_holm(COUNT(golden_p_ties), golden_p_ties, golden_holm_ties);
    assert_holm(COUNT(golden_p_many), golden_p_many, golden_holm_many);
    /* What is no test does not count. */
    double gaps[] = {NOT_A_NUMBER, 0.01, 0.04, NOT_A_NUMBER, 0.03, 0.005}, adjusted[6];
    statistics_holm(6, gaps, adjusted);
    ck_assert(isnan(adjusted[0]) && isnan(adjusted[3]));
    ck_assert_double_eq_tol(adjusted[2], golden_holm_few[1], 1e-15);
    ck_assert_double_eq_tol(adjusted[5], golden_holm_few[3], 1e-15);
}
END_TEST

START_TEST(shares_of_statsmodels) {
    for (size_t i = 0; i < COUNT(golden_wilson); i += 4) {
        const double *row = &golden_wilson[i];
        assert_interval(interval_share((int64_t)row[0], (int64_t)row[1], 0.95), row[2], row[3]);
    }
}
END_TEST

/* The sampled quantile lies between those of the exact distribution a few resamples away: means of
   few values are steps, so it is a step or lies between two that are close. */
START_TEST(bootstrap) {
#define SAMPLE(name)                                                                               \
    { COUNT(golden_sample_##name), golden_sample_##name, golden_resampled_##name }
    static const struct {
        size_t n;
        const double *values, *expected;
    } samples[] = {SAMPLE(split), SAMPLE(high), SAMPLE(six)};
    for (size_t i = 0; i < COUNT(samples); i++) {
        Interval interval = interval_bootstrap(samples[i].n, samples[i].values, 0.95);
        ck_assert_double_eq_tol(interval.low, samples[i].expected[0], 0.006);
        ck_assert_double_eq_tol(interval.high, samples[i].expected[1], 0.006);
        Interval again = interval_bootstrap(samples[i].n, samples[i].values, 0.95);
        ck_assert(interval.low == again.low && interval.high == again.high);
    }
    ck_assert(isnan(interval_bootstrap(1, golden_sample_six, 0.95).low));

    /* Student's interval would end at 0.596 + 0.665. */
    bool drawn;
    Interval split = interval_shares(5, golden_sample_split, 0.95, &drawn);
    ck_assert(drawn && split.high <= 1 && split.low >= 0);
    Interval student = interval_mean(6, golden_sample_six, 0.95);
    Interval kept = interval_shares(6, golden_sample_six, 0.95, &drawn);
    ck_assert(!drawn && kept.low == student.low && kept.high == student.high);
}
END_TEST

START_TEST(areas) {
    ck_assert_double_eq_tol(statistics_area(COUNT(golden_lengths), golden_lengths, golden_heights),
                            golden_area[0], 1e-14);
    static const double flat[] = {0.5, 0.5, NOT_A_NUMBER};
    ck_assert_double_eq_tol(statistics_area(2, golden_lengths, flat), 0.5, 1e-15);
    ck_assert(isnan(statistics_area(3, golden_lengths, flat)));
    ck_assert(isnan(statistics_area(1, golden_lengths, flat)));
}
END_TEST

/* On a machine that is so busy that the time is over before it starts, too. */
START_TEST(peak) {
    ck_assert_double_gt(bench_peak(0), 0);
}
END_TEST

/* ---- terminal ------------------------------------------------------------------------- */

START_TEST(text_widths) {
    ck_assert_uint_eq(utf8_width("abc"), 3);
    ck_assert_uint_eq(utf8_width("größe ▁█"), 8);
    ck_assert_uint_eq(utf8_width("e\xCC\x81"), 1); /* e + combining acute */
    ck_assert_uint_eq(utf8_width("位置"), 4);
    ck_assert_uint_eq(utf8_width("a\xFF\xC3"), 3);        /* two stray bytes */
    ck_assert_uint_eq(utf8_width("\xE2\x96"), 2);         /* cut off */
    ck_assert_uint_eq(utf8_width("\xC0\xAF"), 2);         /* overlong */
    ck_assert_uint_eq(utf8_width("\xED\xA0\x80"), 3);     /* surrogate */
    ck_assert_uint_eq(utf8_width("\xF4\x90\x80\x80"), 4); /* beyond U+10FFFF */
}
END_TEST

static void clear_environment(void) {
    static const char *const names[] = {"NO_COLOR", "CLICOLOR_FORCE", "TERM",
                                        "LC_ALL",   "LC_CTYPE",       "LANG"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) unsetenv(names[i]);
}

/* The slave side of a pseudo-terminal of that many columns; -1 in a system that has none to give (a
   bare root without /dev/pts). */
static int open_terminal(unsigned short columns) {
    int master = posix_openpt(O_RDWR | O_NOCTTY);
    if (master < 0 || grantpt(master) || unlockpt(master)) {
        puts("no pseudo-terminals here: left out");
        return -1;
    }
    int slave = open(ptsname(master), O_RDWR | O_NOCTTY);
    struct winsize size = {.ws_row = 24, .ws_col = columns};
    ck_assert(slave >= 0 && !ioctl(slave, TIOCSWINSZ, &size));
    return slave;
}

START_TEST(what_terminals_show) {
    clear_environment();
    int terminal = open_terminal(123), file = open("/dev/null", O_WRONLY);
    if (terminal < 0) return;
    setenv("TERM", "xterm", 1);
    Terminal look = terminal_look(terminal, COLOR_AUTO);
    ck_assert(look.rewrites && look.color && !look.utf8);
    ck_assert_uint_eq(terminal_width(&look), 123);
    ck_assert(!terminal_look(terminal, COLOR_NEVER).color);

    look = terminal_look(file, COLOR_AUTO);
    ck_assert(!look.rewrites && !look.color);
    ck_assert_uint_eq(terminal_width(&look), 80);
    ck_assert(terminal_look(file, COLOR_ALWAYS).color);

    setenv("CLICOLOR_FORCE", "1", 1);
    ck_assert(terminal_look(file, COLOR_AUTO).color);
    ck_assert(!terminal_look(file, COLOR_NEVER).color);
    setenv("NO_COLOR", "1", 1);
    ck_assert(!terminal_look(file, COLOR_AUTO).color);
    ck_assert(!terminal_look(terminal, COLOR_AUTO).color);
    ck_assert(terminal_look(terminal, COLOR_ALWAYS).color);
    setenv("NO_COLOR", "", 1);
    setenv("CLICOLOR_FORCE", "0", 1);
    ck_assert(terminal_look(terminal, COLOR_AUTO).color);
    ck_assert(!terminal_look(file, COLOR_AUTO).color);

    setenv("TERM", "dumb", 1);
    look = terminal_look(terminal, COLOR_AUTO);
    ck_assert(!look.rewrites && !look.color);

    setenv("LANG", "C.UTF-8", 1);
    ck_assert(terminal_look(file, COLOR_AUTO).utf8);
    setenv("LC_CTYPE", "C", 1);
    ck_assert(!terminal_look(file, COLOR_AUTO).utf8);
    setenv("LC_ALL", "de_DE.utf8", 1);
    ck_assert(terminal_look(file, COLOR_AUTO).utf8);
}
END_TEST

static const Terminal ascii = {.fd = -1}, utf8 = {.fd = -1, .utf8 = true};

START_TEST(sparklines_and_bars) {
    char text[128];
    static const double rising[] = {0, 1, 2, 3, 4, 5, 6, 7};
    ck_assert_str_eq(terminal_sparkline(&utf8, 8, rising, 0, 8, text), "▁▂▃▄▅▆▇█");
    ck_assert_str_eq(terminal_sparkline(&ascii, 7, rising, 0, 7, text), ".:-=+*#");
    static const double odd[] = {-1, 9, NOT_A_NUMBER, HUGE_VAL, 0.5};
    ck_assert_str_eq(terminal_sparkline(&utf8, 5, odd, 0, 1, text), "▁█ █▅");
    static const double flat[] = {2, 2};
    ck_assert_str_eq(terminal_sparkline(&ascii, 2, flat, 2, 2, text), "..");

    ck_assert_str_eq(terminal_bar(&utf8, 0.5, 4, text), "██  ");
    ck_assert_str_eq(terminal_bar(&utf8, 0.4375, 4, text), "█▊  ");
    ck_assert_str_eq(terminal_bar(&utf8, 1, 4, text), "████");
    ck_assert_str_eq(terminal_bar(&utf8, 7, 2, text), "██");
    ck_assert_str_eq(terminal_bar(&utf8, NOT_A_NUMBER, 2, text), "  ");
    ck_assert_str_eq(terminal_bar(&ascii, 0.5, 4, text), "##  ");
    ck_assert_str_eq(terminal_bar(&ascii, 1, 4, text), "####");
}
END_TEST

/* ---- tables --------------------------------------------------------------------------- */

/* What was written into a stream made by open_memstream; the stream is closed. */
static char *memory;
static size_t memory_size;
static FILE *open_memory(void) {
    FILE *to = open_memstream(&memory, &memory_size);
    ck_assert_ptr_nonnull(to);
    return to;
}
static void assert_memory(FILE *to, const char *expected) {
    fclose(to);
    ck_assert_str_eq(memory, expected);
    free(memory);
}

START_TEST(tables) {
    Table *table = table_create();
    table_column(table, "encoding", TABLE_LEFT);
    table_column(table, "größe", TABLE_RIGHT);
    table_column(table, "note", TABLE_LEFT);
    table_cell(table, "rope");
    table_cell(table, "%d", 1234567);
    table_cell(table, "x  ");
    table_cell(table, "位置");
    table_cell(table, "%.1f", 0.5);
    table_cell(table, "%s", "");
    table_cell(table, "learned");
    table_rest(table, "not defined: %s", "a reason that is longer than its columns");

    FILE *to = open_memory();
    table_print(table, to, &utf8);
    assert_memory(to, "encoding    größe  note\n"
                      "rope      1234567  x\n"
                      "位置          0.5\n"
                      "learned   not defined: a reason that is longer than its columns\n");
    Terminal colored = {.fd = -1, .color = true};
    to = open_memory();
    table_print(table, to, &colored);
    assert_memory(
        to, "\033[1mencoding    größe  note\033[0m\n"
            "rope      1234567  x\n"
            "位置          0.5\n"
            "\033[2mlearned   not defined: a reason that is longer than its columns\033[0m\n");
    table_free(table);
}
END_TEST

START_TEST(accuracy_by_length) {
    static const LengthRow rows[] = {
        {.length = 256,
         .token_accuracy = 1,
         .interval = {0.9943, 1},
         .sequence_accuracy = 1,
         .loss = 0.00012,
         .random = 0.015625,
         .majority = 0.03125},
        {.length = 2048,
         .token_accuracy = 0.99999,
         .interval = {0.99871, 0.999999},
         .sequence_accuracy = 0.5,
         .loss = 0.0123,
         .random = 0.015625,
         .majority = NOT_A_NUMBER},
        {.length = 4096, .undefined = "the learned table has 2048 rows"},
        {.length = 16384,
         .token_accuracy = 0.25,
         .interval = {0.2, 0.3},
         .sequence_accuracy = 0,
         .loss = 12.5,
         .random = 0.015625,
         .majority = 0.03125},
    };
    FILE *to = open_memory();
    lengths_print(4, rows, 2048, to, &utf8);
    assert_memory(to, "length   token %                95 % interval    sequence %     loss  "
                      "random %  majority %\n"
                      "   256    100.00  ████████████  99.43 .. 100.00      100.00   0.0001      "
                      "1.56        3.12\n"
                      "  2048*    99.99  ████████████  99.87 .. 99.99        50.00   0.0123      "
                      "1.56           -\n"
                      "  4096   not defined: the learned table has 2048 rows\n"
                      " 16384     25.00  ███           20.00 .. 30.00         0.00  12.5000      "
                      "1.56        3.12\n"
                      "* the longest length trained at\n");
    to = open_memory();
    lengths_print(1, rows, 2048, to, &ascii);
    assert_memory(to, "length   token %                95 % interval    sequence %    loss  random "
                      "%  majority %\n"
                      "   256    100.00  ############  99.43 .. 100.00      100.00  0.0001      "
                      "1.56        3.12\n");
}
END_TEST

/* ---- progress ------------------------------------------------------------------------- */

static ProgressState state_at(int64_t step, int stage) {
    return (ProgressState){.step = step,
                           .stage = stage,
                           .loss = 4.0 - (double)step / 100,
                           .accuracy = (double)step / 1000,
                           .tokens = 1000.0 * (double)step,
                           .flops = 1e9 * (double)step};
}

/* 4 steps a second for 40 s: a line every 10 seconds and one at the end. The sparkline is the mean
   loss of each sixteenth of the run so far, between its least and its largest. */
START_TEST(progress_in_a_file) {
    FILE *to = open_memory();
    Progress progress = {
        .to = to, .terminal = ascii, .stages = 2, .steps = 200, .flops = 200e9, .peak = 8e9};
    ProgressState state = state_at(0, 1);
    progress_start(&progress, 100, &state);
    for (int step = 1; step <= 162; step++) {
        state = state_at(step, step > 80 ? 2 : 1);
        progress_step(&progress, 100 + 0.25 * step, &state);
    }
    progress_end(&progress, 141);
    assert_memory(to, "stage 1/2  step 40/200 20 %  loss 3.600  accuracy 4.0 %  eta 0:40"
                      "  4.0k tokens/s  50 % of peak  #+:.\n"
                      "stage 1/2  step 80/200 40 %  loss 3.200  accuracy 8.0 %  eta 0:30"
                      "  4.0k tokens/s  50 % of peak  #*+=-..\n"
                      "stage 2/2  step 120/200 60 %  loss 2.800  accuracy 12.0 %  eta 0:20"
                      "  4.0k tokens/s  50 % of peak  ##*+==-:..\n"
                      "stage 2/2  step 160/200 80 %  loss 2.400  accuracy 16.0 %  eta 0:10"
                      "  4.0k tokens/s  50 % of peak  ##**++=--::..\n"
                      "stage 2/2  step 162/200 81 %  loss 2.380  accuracy 16.2 %  eta 0:10"
                      "  4.0k tokens/s  50 % of peak  ##**++=--::..\n");
}
END_TEST

/* Evaluation takes 1000 s in which the clock stands still: rate and ETA do not see it. */
START_TEST(progress_clock_leaves_pauses_out) {
    FILE *to = open_memory();
    Progress progress = {.to = to, .terminal = ascii, .stages = 1, .steps = 100};
    ProgressState state = {.stage = 1, .loss = NOT_A_NUMBER, .accuracy = NOT_A_NUMBER};
    progress_start(&progress, 0, &state);
    for (int step = 1; step <= 4; step++) {
        state.step = step;
        state.tokens = 2e6 * step;
        progress_step(&progress, step, &state);
    }
    progress_note(&progress, 4, "evaluating length 4096");
    progress_note(&progress, 500, "writing a checkpoint");
    progress_resume(&progress, 1004);
    state.step = 5;
    state.tokens = 10e6;
    progress_step(&progress, 1005, &state);
    assert_memory(to, "step 5/100 5 %  eta 1:35  2.0M tokens/s\n");
}
END_TEST

/* 40 s at 1 step a second, 20 s at 8, 8 s at 4: the window holds the last 31 half seconds, which
   are 7.5 s at 8 and 8 s at 4, 92 steps. 768 steps are left: 129.4 s. */
START_TEST(progress_window_moves) {
    FILE *to = open_memory();
    Progress progress = {.to = to, .terminal = ascii, .stages = 1, .steps = 1000};
    ProgressState state = {.stage = 1, .loss = NOT_A_NUMBER, .accuracy = NOT_A_NUMBER};
    progress_start(&progress, 0, &state);
    double now = 0;
    for (int step = 1; step <= 232; step++) {
        now += step <= 40 ? 1 : step <= 200 ? 0.125 : 0.25;
        state.step = step;
        state.tokens = 10 * step;
        progress.shown = step < 232 ? now : 0; /* only the last step is shown */
        progress_step(&progress, now, &state);
    }
    assert_memory(to, "step 232/1000 23 %  eta 2:10  59 tokens/s\n");
}
END_TEST

/* Later stages are slower: with operations counted the ETA knows, and a new stage starts a new
   window. */
START_TEST(progress_across_stages) {
    FILE *to = open_memory();
    Progress progress = {.to = to, .terminal = ascii, .stages = 2, .steps = 20, .flops = 110};
    ProgressState state = {.stage = 1, .loss = NOT_A_NUMBER, .accuracy = NOT_A_NUMBER};
    progress_start(&progress, 0, &state);
    for (int step = 1; step <= 10; step++) {
        state = (ProgressState){step, 1, NOT_A_NUMBER, NOT_A_NUMBER, 100 * step, step};
        progress_step(&progress, step, &state);
    }
    state = (ProgressState){11, 2, NOT_A_NUMBER, NOT_A_NUMBER, 1100, 20};
    progress_step(&progress, 20, &state);
    assert_memory(to, "stage 1/2  step 10/20 50 %  eta 1:40  100 tokens/s\n"
                      "stage 2/2  step 11/20 55 %  eta 1:30  10 tokens/s\n");
}
END_TEST

START_TEST(progress_on_a_terminal) {
    Terminal terminal = {.fd = open_terminal(40), .rewrites = true, .utf8 = true};
    if (terminal.fd < 0) return;
    FILE *to = open_memory();
    Progress progress = {.to = to, .terminal = terminal, .stages = 1, .steps = 1000};
    ProgressState state = state_at(0, 1);
    progress_start(&progress, 0, &state);
    for (int step = 1; step <= 15; step++) { /* 64 steps a second, 10 lines a second */
        state = state_at(step, 1);
        progress_step(&progress, step / 64.0, &state);
    }
    progress_note(&progress, 0.25, "evaluating");
    progress_note(&progress, 0.3, NULL);
    progress_resume(&progress, 0.3);
    progress_end(&progress, 0.31);
    close(terminal.fd);
    assert_memory(to, "\rstep 1/1000 0 %  loss 3.990\033[K"
                      "\rstep 8/1000 0 %  loss 3.920\033[K"
                      "\rstep 15/1000 1 %  loss 3.850\033[K"
                      "\rstep 15/1000 1 %  evaluating\033[K"
                      "\r\033[K"
                      "\rstep 15/1000 1 %  loss 3.850\033[K\n");
}
END_TEST

START_TEST(progress_in_color) {
    FILE *to = open_memory();
    Progress progress = {.to = to, .terminal = {.fd = -1, .color = true}, .stages = 1, .steps = 8};
    ProgressState state = {.stage = 1, .loss = NOT_A_NUMBER, .accuracy = 0.99999};
    progress_start(&progress, 0, &state);
    state.step = 4;
    progress_step(&progress, 16, &state);
    assert_memory(to, "\033[2mstep \033[0m4/8 50 %  \033[2maccuracy \033[0m99.9\033[2m %\033[0m"
                      "  \033[2meta \033[0m0:16\n");
}
END_TEST

START_TEST(quiet_progress) {
    FILE *to = open_memory();
    Terminal terminal = {.fd = -1, .rewrites = true};
    Progress progress = {.to = to, .terminal = terminal, .quiet = true, .stages = 1, .steps = 10};
    ProgressState state = state_at(0, 1);
    progress_start(&progress, 0, &state);
    state = state_at(10, 1);
    progress_step(&progress, 60, &state);
    progress_note(&progress, 61, "evaluating");
    progress_resume(&progress, 62);
    progress_end(&progress, 63);
    assert_memory(to, "");
}
END_TEST

Suite *suite_report(void);
Suite *suite_report(void) {
    Suite *suite = suite_create("report");
    TCase *statistics = tcase_create("statistics");
    tcase_add_loop_test(statistics, student_quantiles, 0, sizeof quantiles / sizeof *quantiles);
    tcase_add_test(statistics, means);
    tcase_add_test(statistics, shares);
    tcase_add_test(statistics, clustered_shares);
    tcase_add_test(statistics, student_probabilities);
    tcase_add_test(statistics, pairs);
    tcase_add_test(statistics, holm);
    tcase_add_test(statistics, shares_of_statsmodels);
    tcase_add_test(statistics, bootstrap);
    tcase_add_test(statistics, areas);
    tcase_add_test(statistics, peak);
    suite_add_tcase(suite, statistics);

    TCase *text = tcase_create("text");
    tcase_add_test(text, text_widths);
    tcase_add_test(text, what_terminals_show);
    tcase_add_test(text, sparklines_and_bars);
    tcase_add_test(text, tables);
    tcase_add_test(text, accuracy_by_length);
    suite_add_tcase(suite, text);

    TCase *progress = tcase_create("progress");
    tcase_add_test(progress, progress_in_a_file);
    tcase_add_test(progress, progress_clock_leaves_pauses_out);
    tcase_add_test(progress, progress_window_moves);
    tcase_add_test(progress, progress_across_stages);
    tcase_add_test(progress, progress_on_a_terminal);
    tcase_add_test(progress, progress_in_color);
    tcase_add_test(progress, quiet_progress);
    suite_add_tcase(suite, progress);
    return suite;
}

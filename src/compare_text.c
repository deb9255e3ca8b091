#include "src/compare_text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/report/table.h"

enum {
    LENGTH_COLUMNS = 11, /* of the table by length; of more lengths some are left out */
    MOST_PAIRS = 15      /* of more pairs only those that differ are printed */
};

/* Metrics that are printed; the loss is in the files. */
static const Metric shares[] = {METRIC_SEQUENCE_ACCURACY, METRIC_TOKEN_ACCURACY};
static const char *const share_titles[] = {"sequences right", "tokens right"};

typedef struct {
    const Comparison *comparison;
    const Block *block;
    const ComparisonView *view;
} Page;

static void print_title(const ComparisonView *view, const char *text) {
    fprintf(view->to, "\n%s%s%s\n", terminal_bold(view->terminal), text,
            terminal_plain(view->terminal));
}

/* In percent, what is not whole never as 100; "-" where there is none. */
static const char *percent(double share, char text[16]) {
    double shown = share < 1 && share > 0.9999 ? 99.99 : 100 * share;
    snprintf(text, 16, isfinite(share) ? "%.2f" : "-", shown);
    return text;
}

static void interval_cell(Table *table, Interval interval, const char *mark) {
    char low[16], high[16];
    if (isnan(interval.low))
        table_cell(table, "-");
    else
        table_cell(table, "%s .. %s%s", percent(interval.low, low), percent(interval.high, high),
                   mark);
}

static void percent_cell(Table *table, double share) {
    char text[16];
    table_cell(table, "%s", percent(share, text));
}

/* ---- accuracy by length ---------------------------------------------------------------- */

/* At most LENGTH_COLUMNS lengths, the last one among them. */
static size_t choose_lengths(const Block *block, int64_t chosen[LENGTH_COLUMNS]) {
    size_t step = (block->length_count + LENGTH_COLUMNS - 1) / LENGTH_COLUMNS, count = 0;
    for (size_t i = (block->length_count - 1) % most(step, 1); i < block->length_count; i += step)
        chosen[count++] = block->lengths[i];
    return count;
}

static bool within_training(const Block *block, int64_t length) {
    return length >= block->shortest_length && length <= block->trained_length;
}

/* "34 (34 .. 66)": the median seed, and the least and the largest where they differ. */
static void longest_cell(Table *table, const GroupStatistics *s) {
    if (!s->n)
        table_cell(table, "-");
    else if (s->least == s->largest)
        table_cell(table, "%.0f", s->middle);
    else
        table_cell(table, "%.0f (%.0f .. %.0f)", s->middle, s->least, s->largest);
}

static void print_overview(const Page *page, Metric metric, const char *name) {
    int64_t lengths[LENGTH_COLUMNS];
    const size_t count = page->block->length_count ? choose_lengths(page->block, lengths) : 0;
    char *title = format_text("%s: %s, %%, by length (mean over seeds)", page->block->task, name);
    print_title(page->view, title);
    free(title);
    Table *table = table_create();
    table_column(table, "", TABLE_LEFT);
    table_column(table, "n", TABLE_RIGHT);
    for (size_t i = 0; i < count; i++) {
        char column[32];
        snprintf(column, sizeof column, "%lld%c", (long long)lengths[i],
                 within_training(page->block, lengths[i]) ? '*' : ' ');
        table_column(table, column, TABLE_RIGHT);
    }
    table_column(table, ">= 90 % up to", TABLE_RIGHT);
    table_column(table, "area", TABLE_RIGHT);
    for (size_t g = page->block->first; g < page->block->first + page->block->count; g++) {
        const Group *group = &page->comparison->groups[g];
        const GroupStatistics longest =
            comparison_statistics(page->comparison, group, (Quantity){QUANTITY_LONGEST, metric, 0});
        const GroupStatistics area =
            comparison_statistics(page->comparison, group, (Quantity){QUANTITY_AREA, metric, 0});
        table_cell(table, "%s", group->label);
        table_cell(table, "%zu", longest.n);
        for (size_t i = 0; i < count; i++) {
            const GroupStatistics s = comparison_statistics(
                page->comparison, group, (Quantity){QUANTITY_METRIC, metric, lengths[i]});
            char text[16];
            table_cell(table, "%s ", percent(s.mean, text));
        }
        longest_cell(table, &longest);
        percent_cell(table, area.mean);
    }
    table_print(table, page->view->to, page->view->terminal);
    table_free(table);
}

/* ---- every group and length ------------------------------------------------------------ */

/* Returns whether the interval is the bootstrap's. */
static bool statistics_cells(Table *table, const Page *page, const Group *group,
                             Quantity quantity) {
    bool bootstrap;
    const GroupStatistics s = comparison_statistics(page->comparison, group, quantity);
    const Interval interval = comparison_interval(page->comparison, group, quantity, &bootstrap);
    percent_cell(table, s.mean);
    percent_cell(table, s.deviation);
    interval_cell(table, interval, bootstrap ? " b" : "");
    percent_cell(table, s.evaluation);
    return bootstrap;
}

static void print_details(const Page *page) {
    char *title = format_text("%s: mean, deviation and 95 %% interval over seeds, %%; noise: half "
                              "the 95 %% interval of one evaluation",
                              page->block->task);
    print_title(page->view, title);
    free(title);
    Table *table = table_create();
    table_column(table, "", TABLE_LEFT);
    table_column(table, "length ", TABLE_RIGHT);
    table_column(table, "n", TABLE_RIGHT);
    for (size_t m = 0; m < sizeof shares / sizeof *shares; m++) {
        table_column(table, share_titles[m], TABLE_RIGHT);
        table_column(table, "sd", TABLE_RIGHT);
        table_column(table, "interval", TABLE_LEFT);
        table_column(table, "noise", TABLE_RIGHT);
    }
    bool drawn = false;
    for (size_t g = page->block->first; g < page->block->first + page->block->count; g++)
        for (size_t i = 0; i < page->block->length_count; i++) {
            const Group *group = &page->comparison->groups[g];
            const int64_t length = page->block->lengths[i];
            const size_t n = comparison_statistics(page->comparison, group,
                                                   (Quantity){QUANTITY_METRIC, shares[0], length})
                                 .n;
            table_cell(table, "%s", group->label);
            table_cell(table, "%lld%c", (long long)length,
                       within_training(page->block, length) ? '*' : ' ');
            const char *undefined = comparison_undefined(page->comparison, group, length);
            if (!n) {
                table_rest(table, "%s%s", undefined ? "not defined: " : "not evaluated",
                           undefined ? undefined : "");
                continue;
            }
            table_cell(table, "%zu", n);
            for (size_t m = 0; m < sizeof shares / sizeof *shares; m++)
                drawn |= statistics_cells(table, page, group,
                                          (Quantity){QUANTITY_METRIC, shares[m], length});
        }
    table_print(table, page->view->to, page->view->terminal);
    table_free(table);
    if (drawn)
        fprintf(page->view->to, "b: Student's interval would leave 0 .. 100 %%, so it is that of "
                                "the bootstrap over seeds\n");
}

/* ---- differences ----------------------------------------------------------------------- */

static bool is_tested(const Difference *difference) {
    return difference->test.n > 1;
}

static Quantity quantity_of_differences(const Page *page) {
    Quantity quantity = {QUANTITY_AREA, METRIC_SEQUENCE_ACCURACY, 0};
    if (page->view->length)
        return (Quantity){QUANTITY_METRIC, METRIC_SEQUENCE_ACCURACY, page->view->length};
    for (size_t g = page->block->first; g < page->block->first + page->block->count; g++)
        if (comparison_statistics(page->comparison, &page->comparison->groups[g], quantity).n)
            return quantity;
    const size_t count = page->block->length_count;
    return (Quantity){QUANTITY_METRIC, METRIC_SEQUENCE_ACCURACY,
                      count ? page->block->lengths[count - 1] : 0};
}

static void print_difference(Table *table, const Comparison *c, const Difference *d) {
    table_cell(table, "%s - %s", c->groups[d->left].label, c->groups[d->right].label);
    table_cell(table, "%zu", d->test.n);
    if (!is_tested(d)) {
        table_rest(table, "%s", d->test.n ? "n=1: no test" : "no seed of both has a value");
        return;
    }
    percent_cell(table, d->test.mean);
    percent_cell(table, d->test.deviation);
    interval_cell(table, d->interval, "");
    table_cell(table, "%.2g", d->test.p);
    table_cell(table, "%.2g", d->holm);
    const size_t ahead = d->test.mean > 0 ? d->left : d->right;
    table_cell(table, "%s%s", d->holm <= 0.05 ? c->groups[ahead].label : "",
               d->holm <= 0.05 ? " ahead" : "");
}

static void print_differences(const Page *page) {
    const Block *block = page->block;
    const Quantity quantity = quantity_of_differences(page);
    const size_t pairs = block->count * (block->count - 1) / 2;
    Difference *differences = comparison_differences(page->comparison, block, quantity);
    size_t differ = 0, tested = 0;
    for (size_t i = 0; i < pairs; i++) {
        tested += is_tested(&differences[i]);
        differ += is_tested(&differences[i]) && differences[i].holm <= 0.05;
    }
    char *name = quantity_name(quantity);
    char *title = format_text("%s: differences by seed, sequences right, %%, %s%s", block->task,
                              quantity.kind == QUANTITY_METRIC ? "length " : "", name);
    print_title(page->view, title);
    free(title);
    free(name);

    const bool all = pairs <= MOST_PAIRS;
    Table *table = table_create();
    table_column(table, "", TABLE_LEFT);
    table_column(table, "n", TABLE_RIGHT);
    table_column(table, "difference", TABLE_RIGHT);
    table_column(table, "sd", TABLE_RIGHT);
    table_column(table, "interval (Holm)", TABLE_LEFT);
    table_column(table, "p", TABLE_RIGHT);
    table_column(table, "p (Holm)", TABLE_RIGHT);
    table_column(table, "", TABLE_LEFT);
    for (size_t i = 0; i < pairs; i++)
        if (all || (is_tested(&differences[i]) && differences[i].holm <= 0.05))
            print_difference(table, page->comparison, &differences[i]);
    if (all || differ) table_print(table, page->view->to, page->view->terminal);
    table_free(table);
    fprintf(page->view->to,
            "%zu of %zu pairs differ (paired t test over seeds, Holm over the "
            "%zu that can be tested, 5 %%)\n",
            differ, pairs, tested);
    free(differences);
}

/* ---- the whole ------------------------------------------------------------------------- */

void comparison_print(const Comparison *comparison, const ComparisonView *view) {
    for (size_t b = 0; b < comparison->block_count; b++) {
        const Page page = {comparison, &comparison->blocks[b], view};
        for (size_t m = 0; m < sizeof shares / sizeof *shares; m++)
            print_overview(&page, shares[m], share_titles[m]);
        fprintf(view->to,
                "* within training (%lld .. %lld tokens); area: under the curve over log2(length) "
                "from there on\n",
                (long long)page.block->shortest_length, (long long)page.block->trained_length);
        if (view->details) print_details(&page);
        if (page.block->count > 1) print_differences(&page);
    }
}

/* A value of the claim's metric; the loss is no share. */
static const char *value_text(Metric metric, double value, char text[16]) {
    if (metric != METRIC_LOSS) return percent(value, text);
    snprintf(text, 16, isfinite(value) ? "%.4f" : "-", value);
    return text;
}

static void print_verdict(Table *table, const Claim *claim, const Verdict *v) {
    char a[16], b[16];
    const Metric metric = claim->metric;
    table_cell(table, "%s", claim->name);
    if (v->length)
        table_cell(table, "%lld", (long long)v->length);
    else
        table_cell(table, "%.3gx", claim->length);
    percent(v->left.in_distribution, a), percent(v->right.in_distribution, b);
    table_cell(table, claim->against_value ? "%s" : "%s / %s", a, b);
    value_text(metric, v->left.mean, a), value_text(metric, v->right.mean, b);
    table_cell(table, "%s %c %s", a, claim->less ? '<' : '>', b);
    if (isnan(v->interval.low))
        table_cell(table, "-");
    else
        table_cell(table, "%s .. %s", value_text(metric, v->interval.low, a),
                   value_text(metric, v->interval.high, b));
    table_cell(table, "%s%s%s", verdict_words[v->kind], *v->reason ? ": " : "", v->reason);
}

void verdicts_print(size_t count, const Claim *claims, const Verdict *verdicts,
                    const ComparisonView *view) {
    if (!count) return;
    print_title(view, "claims");
    Table *table = table_create();
    table_column(table, "", TABLE_LEFT);
    table_column(table, "length", TABLE_RIGHT);
    table_column(table, "trained lengths %", TABLE_RIGHT);
    table_column(table, "claim", TABLE_RIGHT);
    table_column(table, "difference (Holm)", TABLE_LEFT);
    table_column(table, "verdict", TABLE_LEFT);
    size_t counts[4] = {0};
    for (size_t i = 0; i < count; i++) {
        print_verdict(table, &claims[i], &verdicts[i]);
        counts[verdicts[i].kind]++;
    }
    table_print(table, view->to, view->terminal);
    table_free(table);
    for (size_t kind = 0; kind < 4; kind++)
        fprintf(view->to, "%s%zu %s", kind ? ", " : "", counts[kind], verdict_words[kind]);
    fputc('\n', view->to);
}

void comparison_print_notes(const Comparison *comparison, const ComparisonView *view) {
    if (!comparison->note_count) return;
    print_title(view, "notes");
    for (size_t n = 0; n < comparison->note_count; n++)
        fprintf(view->to, "- %s\n", comparison->notes[n]);
}

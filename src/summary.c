#include "src/summary.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/environment.h"
#include "src/store/guard.h"
#include "src/store/store.h"
#include "src/utf8.h"

/* ---- tables ---------------------------------------------------------------------------- */

/* The grouping keys of a run, the task first. */
static void key_cells(Sheet *sheet, const Comparison *c, const Group *group) {
    for (size_t k = 0; k < c->key_count; k++) sheet_text(sheet, c->keys[k], group->values[k]);
}

static void metric_cells(Sheet *sheet, const OutcomeLength *row) {
    static const Metric shares[] = {METRIC_SEQUENCE_ACCURACY, METRIC_TOKEN_ACCURACY};
    for (size_t m = 0; m < sizeof shares / sizeof *shares; m++) {
        const char *name = metric_words[shares[m]];
        char low[64], high[64];
        snprintf(low, sizeof low, "%s_low", name);
        snprintf(high, sizeof high, "%s_high", name);
        sheet_number(sheet, name, row->metric[shares[m]]);
        sheet_number(sheet, low, row->interval[shares[m]].low);
        sheet_number(sheet, high, row->interval[shares[m]].high);
    }
    sheet_number(sheet, metric_words[METRIC_LOSS], row->metric[METRIC_LOSS]);
}

/* A row for each run and length. */
static Sheet *runs_sheet(const Comparison *c) {
    Sheet *sheet = sheet_create();
    for (size_t g = 0; g < c->group_count; g++)
        for (size_t r = 0; r < c->groups[g].run_count; r++) {
            const Outcome *run = &c->outcomes[c->groups[g].runs[r]];
            for (size_t i = 0; i < run->length_count; i++) {
                const OutcomeLength *row = &run->lengths[i];
                key_cells(sheet, c, &c->groups[g]);
                sheet_text(sheet, "group", c->groups[g].label);
                sheet_integer(sheet, "seed", run->seed);
                sheet_integer(sheet, "init_seed", run->init_seed);
                sheet_integer(sheet, "data_seed", run->data_seed);
                sheet_text(sheet, "run_id", run->run_id);
                sheet_integer(sheet, "trained_length", run->trained_length);
                sheet_integer(sheet, "length", row->length);
                sheet_boolean(sheet, "within_training",
                              row->length >= run->shortest_length &&
                                  row->length <= run->trained_length);
                sheet_boolean(sheet, "defined", !row->undefined);
                sheet_integer(sheet, "examples", row->examples);
                metric_cells(sheet, row);
                sheet_end_row(sheet);
            }
        }
    return sheet;
}

static const char *quantity_word(Quantity quantity) {
    static const char *const words[] = {[QUANTITY_METRIC] = "at_length",
                                        [QUANTITY_TRAINED] = "trained",
                                        [QUANTITY_AREA] = "area",
                                        [QUANTITY_LONGEST] = "longest"};
    return words[quantity.kind];
}

/* The quantities of a block: every metric at every length, then the others of both accuracies.
   Returns their number; memory of the caller. */
static size_t quantities_of(const Block *block, Quantity **list) {
    static const QuantityKind kinds[] = {QUANTITY_TRAINED, QUANTITY_AREA, QUANTITY_LONGEST};
    size_t count = 0;
    *list = ALLOCATE(METRICS * (block->length_count + 3), Quantity);
    for (Metric m = 0; m < METRICS; m++) {
        for (size_t i = 0; i < block->length_count; i++)
            (*list)[count++] = (Quantity){QUANTITY_METRIC, m, block->lengths[i]};
        for (size_t k = 0; k < 3 && m != METRIC_LOSS; k++)
            (*list)[count++] = (Quantity){kinds[k], m, 0};
    }
    return count;
}

static void quantity_cells(Sheet *sheet, Quantity quantity) {
    sheet_text(sheet, "metric", metric_words[quantity.metric]);
    sheet_text(sheet, "quantity", quantity_word(quantity));
    sheet_integer(sheet, "length", quantity.length);
}

Sheet *summary_groups(const Comparison *c) {
    Sheet *sheet = sheet_create();
    for (size_t g = 0; g < c->group_count; g++) {
        Quantity *quantities;
        const size_t count = quantities_of(&c->blocks[c->groups[g].block], &quantities);
        for (size_t q = 0; q < count; q++) {
            bool bootstrap;
            const GroupStatistics s = comparison_statistics(c, &c->groups[g], quantities[q]);
            const Interval interval =
                comparison_interval(c, &c->groups[g], quantities[q], &bootstrap);
            key_cells(sheet, c, &c->groups[g]);
            sheet_text(sheet, "group", c->groups[g].label);
            quantity_cells(sheet, quantities[q]);
            sheet_integer(sheet, "n", (int64_t)s.n);
            sheet_number(sheet, "mean", s.mean);
            sheet_number(sheet, "deviation", s.deviation);
            sheet_number(sheet, "low", interval.low);
            sheet_number(sheet, "high", interval.high);
            sheet_text(sheet, "interval", s.n < 2 ? "" : bootstrap ? "bootstrap" : "student");
            sheet_number(sheet, "least", s.least);
            sheet_number(sheet, "median", s.middle);
            sheet_number(sheet, "largest", s.largest);
            sheet_number(sheet, "evaluation_noise", s.evaluation);
            sheet_end_row(sheet);
        }
        free(quantities);
    }
    return sheet;
}

static void test_cells(Sheet *sheet, const MeanTest *test, Interval interval, double holm) {
    sheet_integer(sheet, "n", (int64_t)test->n);
    sheet_number(sheet, "mean_difference", test->mean);
    sheet_number(sheet, "deviation", test->deviation);
    sheet_number(sheet, "low", interval.low);
    sheet_number(sheet, "high", interval.high);
    sheet_number(sheet, "t", test->t);
    sheet_number(sheet, "p", test->p);
    sheet_number(sheet, "p_holm", holm);
}

static Sheet *differences_sheet(const Comparison *c) {
    Sheet *sheet = sheet_create();
    for (size_t b = 0; b < c->block_count; b++) {
        const Block *block = &c->blocks[b];
        Quantity *quantities;
        const size_t count = quantities_of(block, &quantities);
        for (size_t q = 0; q < count; q++) {
            Difference *differences = comparison_differences(c, block, quantities[q]);
            for (size_t i = 0; i < block->count * (block->count - 1) / 2; i++) {
                const Difference *d = &differences[i];
                sheet_text(sheet, "task", block->task);
                sheet_text(sheet, "left", c->groups[d->left].label);
                sheet_text(sheet, "right", c->groups[d->right].label);
                quantity_cells(sheet, quantities[q]);
                test_cells(sheet, &d->test, d->interval, d->holm);
                sheet_end_row(sheet);
            }
            free(differences);
        }
        free(quantities);
    }
    return sheet;
}

/* "task=copy; model.encoding=rope" */
static void side_cell(Sheet *sheet, const char *column, const ClaimSide *side) {
    char text[CLAIM_KEYS * (2 * CLAIM_TEXT + 3) + 1] = "";
    size_t used = 0;
    for (int k = 0; k < side->count; k++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s=%s", k ? "; " : "",
                                 side->keys[k].key, side->keys[k].value);
    sheet_text(sheet, column, text);
}

static void verdict_side_cells(Sheet *sheet, const char *side, const VerdictSide *v) {
    char mean[64], within[64], seeds[64], trained[64];
    snprintf(mean, sizeof mean, "%s_mean", side);
    snprintf(within, sizeof within, "%s_in_distribution", side);
    snprintf(seeds, sizeof seeds, "%s_seeds", side);
    snprintf(trained, sizeof trained, "%s_trained_seeds", side);
    sheet_number(sheet, mean, v->mean);
    sheet_number(sheet, within, v->in_distribution);
    sheet_integer(sheet, seeds, (int64_t)v->seeds);
    sheet_integer(sheet, trained, (int64_t)v->trained);
}

static Sheet *claims_sheet(const Summary *summary) {
    Sheet *sheet = sheet_create();
    for (size_t i = 0; i < summary->claim_count; i++) {
        const Claim *claim = &summary->claims[i];
        const Verdict *v = &summary->verdicts[i];
        sheet_text(sheet, "claim", claim->name);
        sheet_text(sheet, "verdict", verdict_words[v->kind]);
        sheet_text(sheet, "reason", v->reason);
        side_cell(sheet, "left", &claim->left);
        side_cell(sheet, "right", &claim->right);
        sheet_text(sheet, "metric", metric_words[claim->metric]);
        sheet_text(sheet, "relation", claim->less ? "<" : ">");
        sheet_number(sheet, "value", claim->against_value ? claim->value : (double)NAN);
        sheet_number(sheet, "multiple", claim->length);
        sheet_number(sheet, "ceiling", claim->trained);
        sheet_integer(sheet, "length", v->length);
        verdict_side_cells(sheet, "left", &v->left);
        verdict_side_cells(sheet, "right", &v->right);
        test_cells(sheet, &v->test, v->interval, v->holm);
        sheet_end_row(sheet);
    }
    return sheet;
}

/* ---- files ----------------------------------------------------------------------------- */

int summary_write(const Summary *summary, const char *folder) {
    const struct {
        const char *group, *csv;
        Sheet *sheet;
    } tables[] = {
        {"/runs", "summary.csv", runs_sheet(summary->comparison)},
        {"/groups", "summary_groups.csv", summary_groups(summary->comparison)},
        {"/differences", "summary_differences.csv", differences_sheet(summary->comparison)},
        {"/claims", "summary_claims.csv", claims_sheet(summary)}};
    enum { TABLES = sizeof tables / sizeof *tables };
    StoreWriter *writer = store_create();
    store_attribute_text(writer, "/", "format", STORE_SUMMARY_FORMAT);
    store_attribute_text(writer, "/", "format_version", STORE_FORMAT_VERSION);
    store_attribute_text(writer, "/", "NX_class", "NXroot");
    store_attribute_text(writer, "/", "name", summary->name);
    store_attribute_text(writer, "/", "harness_version", environment_look().version);
    store_texts(writer, "/notes", summary->comparison->note_count,
                (const char *const *)summary->comparison->notes);
    int error = 0;
    for (size_t i = 0; i < TABLES; i++) sheet_store(tables[i].sheet, writer, tables[i].group);
    char *path = format_text("%s/summary.h5", folder);
    error = store_publish(writer, path);
    free(path);
    for (size_t i = 0; i < TABLES; i++) {
        char *csv = sheet_csv(tables[i].sheet), *name = format_text("%s/%s", folder, tables[i].csv);
        if (!error) error = store_publish_bytes(csv, strlen(csv), name);
        free(csv);
        free(name);
        sheet_free(tables[i].sheet);
    }
    return error;
}

/* ---- reading --------------------------------------------------------------------------- */

/* In the child: the columns of the claims, a value a line, then the ids. */
static bool print_texts(StoreReader *reader, const char *path, FILE *to) {
    char **texts;
    const int count = store_read_texts(reader, path, &texts);
    if (count < 0) return false;
    fprintf(to, "%d\n", count);
    for (int i = 0; i < count; i++) fprintf(to, "%s\n", utf8_clean(texts[i], false));
    store_free_names(texts, count);
    return true;
}

static bool print_numbers(StoreReader *reader, const char *path, FILE *to) {
    size_t count;
    double *values = store_read_column(reader, path, &count);
    if (!values) return false;
    fprintf(to, "%zu\n", count);
    for (size_t i = 0; i < count; i++) fprintf(to, "%a\n", values[i]);
    free(values);
    return true;
}

static const struct {
    const char *path;
    bool (*print)(StoreReader *reader, const char *path, FILE *to);
} columns[] = {{"/runs/run_id", print_texts},      {"/runs/group", print_texts},
               {"/claims/claim", print_texts},     {"/claims/left", print_texts},
               {"/claims/right", print_texts},     {"/claims/metric", print_texts},
               {"/claims/relation", print_texts},  {"/claims/value", print_numbers},
               {"/claims/multiple", print_numbers}, {"/claims/ceiling", print_numbers}};
enum { IDS, GROUPS, NAME, LEFT, RIGHT, METRIC, RELATION, VALUE, MULTIPLE, CEILING, COLUMNS };

static bool read_body(const void *path, FILE *to) {
    const char *reason;
    StoreReader *reader = store_open(path, &reason);
    if (!reader) {
        fputs(reason, to);
        return false;
    }
    char *text;
    size_t size;
    FILE *memory = memory_open(&text, &size);
    char *format = store_read_attribute_text(reader, "/", "format");
    const bool other = format && strcmp(format, STORE_SUMMARY_FORMAT);
    bool good = format && !other && store_known_version(reader);
    /* A table without rows has no columns. */
    size_t last = !good || !store_exists(reader, "/runs/run_id") ? IDS
                  : store_exists(reader, "/claims/claim")        ? COLUMNS
                                                                 : NAME;
    for (size_t i = 0; i < last && good; i++)
        good = columns[i].print(reader, columns[i].path, memory);
    memory_close(memory);
    if (other)
        fprintf(to, "is a %s file and not a summary", format);
    else
        fputs(good ? text : store_reason(reader), to);
    free(format);
    free(text);
    store_close(reader);
    return good;
}

/* "task=copy; model.encoding=rope" → side */
static void parse_side(char *text, ClaimSide *side) {
    for (char *part; side->count < CLAIM_KEYS && (part = strsep(&text, ";"));) {
        part += strspn(part, " ");
        char *equals = strchr(part, '=');
        if (!equals) continue;
        *equals = 0;
        ClaimKey *key = &side->keys[side->count++];
        snprintf(key->key, sizeof key->key, "%s", part);
        snprintf(key->value, sizeof key->value, "%s", equals + 1);
    }
}

static void parse_cell(size_t column, char *text, Claim *claim) {
    switch (column) {
    case NAME: snprintf(claim->name, sizeof claim->name, "%s", text); break;
    case LEFT: parse_side(text, &claim->left); break;
    case RIGHT: parse_side(text, &claim->right); break;
    case METRIC:
        for (Metric m = 0; m < METRICS; m++)
            if (!strcmp(text, metric_words[m])) claim->metric = m;
        break;
    case RELATION: claim->less = *text == '<'; break;
    case VALUE:
        claim->against_value = !isnan(strtod(text, NULL));
        if (claim->against_value) claim->value = strtod(text, NULL);
        break;
    case MULTIPLE: claim->length = strtod(text, NULL); break;
    case CEILING: claim->trained = strtod(text, NULL); break;
    default: break;
    }
}

char *summary_read(const char *path, SummaryClaims *found) {
    *found = (SummaryClaims){0};
    char *text;
    if (!guard_run(read_body, path, &text)) return text;
    char *rest = text;
    for (size_t column = 0; column < COLUMNS && rest && *rest; column++) {
        size_t count = least(strtoull(strsep(&rest, "\n"), NULL, 10), rest ? strlen(rest) : 0);
        if (column == IDS) {
            found->runs = ALLOCATE(most(count, 1), char *);
            found->groups = ALLOCATE(most(count, 1), char *);
        }
        if (column == NAME) {
            found->claims = ALLOCATE(most(count, 1), Claim);
            found->claim_count = count;
        }
        for (size_t i = 0; i < count && rest; i++) {
            char *line = strsep(&rest, "\n");
            if (column == IDS)
                found->runs[found->run_count++] = copy_text(line);
            else if (column == GROUPS && i < found->run_count)
                found->groups[i] = copy_text(line);
            else if (column > GROUPS && i < found->claim_count)
                parse_cell(column, line, &found->claims[i]);
        }
    }
    free(text);
    return NULL;
}

void summary_free(SummaryClaims *found) {
    for (size_t i = 0; i < found->run_count; i++) {
        free(found->runs[i]);
        free(found->groups[i]);
    }
    free(found->runs);
    free(found->groups);
    free(found->claims);
    *found = (SummaryClaims){0};
}

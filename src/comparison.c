#include "src/comparison.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "encodings/encoding.h"
#include "src/identity.h"
#include "tasks/task.h"

void comparison_note(Comparison *comparison, const char *format, ...) {
    va_list arguments;
    char *text;
    va_start(arguments, format);
    CHECK(vasprintf(&text, format, arguments) >= 0, "no memory for a note");
    va_end(arguments);
    char **longer = ALLOCATE(comparison->note_count + 1, char *);
    if (comparison->note_count)
        memcpy(longer, comparison->notes, comparison->note_count * sizeof *longer);
    free(comparison->notes);
    comparison->notes = longer;
    comparison->notes[comparison->note_count++] = text;
}

/* A text that grows. */
typedef struct {
    char *text;
    size_t size;
    FILE *to;
} Words;

static FILE *words_stream(Words *words) {
    if (!words->to) words->to = memory_open(&words->text, &words->size);
    return words->to;
}

static char *words_close(Words *words) {
    memory_close(words_stream(words));
    return words->text;
}

/* ---- keys ------------------------------------------------------------------------------ */

/* Seeds, what changes no result, and what is measured rather than trained. */
static bool is_apart(const char *key) {
    static const char *const seeds[] = {"seed", "init_seed", "data_seed"};
    for (size_t i = 0; i < sizeof seeds / sizeof *seeds; i++)
        if (!strcmp(key, seeds[i])) return true;
    return identity_ignores(key) || !strncmp(key, "evaluate.", 9);
}

/* The key of the kind that this is an option of ("model.encoding" of "model.encoding.base"), in a
   buffer; "" for other keys. */
static const char *kind_of(const Outcome *outcome, const char *key, char kind[256]) {
    snprintf(kind, 256, "%s", key);
    if (strstr(key, ".task.")) return "task";
    for (char *dot = strrchr(kind, '.'); dot; dot = strrchr(kind, '.')) {
        *dot = 0;
        if (flatten_find(&outcome->keys, kind)) return kind;
    }
    return "";
}

static bool same_text(const char *a, const char *b) {
    return a == b || (a && b && !strcmp(a, b));
}

/* Do two runs of one kind differ in the key? An option that only one of two kinds has is no
   difference beyond that of the kinds. */
static bool differ(const Outcome *a, const Outcome *b, const char *key) {
    const char *of_a = flatten_find(&a->keys, key), *of_b = flatten_find(&b->keys, key);
    if (same_text(of_a, of_b)) return false;
    char buffer[256];
    const char *kind = kind_of(of_a ? a : b, key, buffer);
    return !*kind || same_text(flatten_find(&a->keys, kind), flatten_find(&b->keys, kind));
}

/* The same value, of the same kind? Then whatever differs from one differs from the other. */
static bool alike(const Outcome *a, const Outcome *b, const char *key) {
    char of_a[256], of_b[256];
    return same_text(flatten_find(&a->keys, key), flatten_find(&b->keys, key)) &&
           same_text(flatten_find(&a->keys, kind_of(a, key, of_a)),
                     flatten_find(&b->keys, kind_of(b, key, of_b)));
}

/* Of the runs with these indices. One of each value and kind is kept: there are as many as there
   are kinds at most, and not a pair of runs has to be looked at for most keys. */
static bool any_differ(const Comparison *c, size_t count, const size_t *runs, const char *key) {
    const Outcome **kept = ALLOCATE(most(count, 1), const Outcome *);
    size_t kept_count = 0;
    bool differs = false;
    for (size_t i = 0; i < count && !differs; i++) {
        const Outcome *run = &c->outcomes[runs[i]];
        bool known = false;
        for (size_t k = 0; k < kept_count && !known && !differs; k++) {
            differs = differ(run, kept[k], key);
            known = alike(run, kept[k], key);
        }
        if (!known) kept[kept_count++] = run;
    }
    free(kept);
    return differs;
}

static int key_rank(const char *key) {
    static const char *const first[] = {"task", "model.encoding", "model.positions"};
    for (int i = 0; i < 3; i++)
        if (!strncmp(key, first[i], strlen(first[i]))) return i;
    return 3;
}

static int compare_texts(const void *a, const void *b) {
    const char *x = *(const char *const *)a, *y = *(const char *const *)b;
    return key_rank(x) != key_rank(y) ? key_rank(x) - key_rank(y) : strcmp(x, y);
}

typedef struct {
    size_t count;
    const char **list;
} Keys;

/* All keys of the outcomes that may matter, each once, kinds first. */
static Keys all_keys(size_t count, const Outcome *outcomes) {
    size_t total = 0;
    for (size_t i = 0; i < count; i++) total += outcomes[i].keys.count;
    Keys keys = {0, ALLOCATE(most(total, 1), const char *)};
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < outcomes[i].keys.count; k++)
            if (!is_apart(outcomes[i].keys.list[k].key))
                keys.list[keys.count++] = outcomes[i].keys.list[k].key;
    if (keys.count) qsort(keys.list, keys.count, sizeof *keys.list, compare_texts);
    size_t kept = 0;
    for (size_t i = 0; i < keys.count; i++)
        if (!kept || strcmp(keys.list[kept - 1], keys.list[i])) keys.list[kept++] = keys.list[i];
    keys.count = kept;
    return keys;
}

static void add_key(Comparison *c, const char *key) {
    for (size_t k = 0; k < c->key_count; k++)
        if (!strcmp(c->keys[k], key)) return;
    char **longer = ALLOCATE(c->key_count + 1, char *);
    if (c->key_count) memcpy(longer, c->keys, c->key_count * sizeof *longer);
    free(c->keys);
    c->keys = longer;
    c->keys[c->key_count++] = copy_text(key);
}

static bool agree(const Comparison *c, const Outcome *a, const Outcome *b) {
    for (size_t k = 0; k < c->key_count; k++)
        if (!same_text(flatten_find(&a->keys, c->keys[k]), flatten_find(&b->keys, c->keys[k])))
            return false;
    return true;
}

/* Does the key tell apart runs that agree in all keys so far? */
static bool splits(const Comparison *c, const char *key) {
    for (size_t i = 1; i < c->outcome_count; i++)
        for (size_t j = 0; j < i; j++)
            if (agree(c, &c->outcomes[i], &c->outcomes[j]) &&
                differ(&c->outcomes[i], &c->outcomes[j], key))
                return true;
    return false;
}

/* Gives those of the keys in which any two of the runs differ. */
static Keys differing_keys(const Comparison *c, const Keys *all) {
    Keys keys = {0, ALLOCATE(most(all->count, 1), const char *)};
    size_t *runs = ALLOCATE(most(c->outcome_count, 1), size_t);
    for (size_t i = 0; i < c->outcome_count; i++) runs[i] = i;
    for (size_t k = 0; k < all->count; k++)
        if (any_differ(c, c->outcome_count, runs, all->list[k]))
            keys.list[keys.count++] = all->list[k];
    free(runs);
    return keys;
}

static char *choose_keys(Comparison *c, const Keys *all, const Keys *differing, const char *by) {
    add_key(c, "task");
    if (!by) {
        for (size_t k = 0; k < differing->count; k++)
            if (splits(c, differing->list[k])) add_key(c, differing->list[k]);
        return NULL;
    }
    char *words = copy_text(by), *rest = words, *wrong = NULL;
    for (char *key; !wrong && (key = strsep(&rest, ","));) {
        bool known = false;
        for (size_t k = 0; k < all->count; k++) known |= !strcmp(all->list[k], key);
        if (known) {
            add_key(c, key);
            continue;
        }
        Words list = {0};
        FILE *to = words_stream(&list);
        for (size_t k = 0; k < differing->count; k++) fprintf(to, " %s", differing->list[k]);
        char *others = words_close(&list);
        wrong = format_text("--by: none of the results has the key \"%s\"; they differ in%s", key,
                            *others ? others : " their seeds alone");
        free(others);
    }
    free(words);
    return wrong;
}

/* ---- groups ---------------------------------------------------------------------------- */

/* The place of a name in its registry; names that are not there come last. */
static size_t registry_place(const char *key, const char *value) {
    if (!strcmp(key, "task"))
        for (size_t i = 0; i < tasks_count; i++)
            if (!strcmp(tasks[i]->name, value)) return i;
    if (!strcmp(key, "model.encoding"))
        for (size_t i = 0; i < encoding_count; i++)
            if (!strcmp(encodings[i]->name, value)) return i;
    return SIZE_MAX;
}

static int compare_values(const char *key, const char *a, const char *b) {
    if (!a || !b) return (a != NULL) - (b != NULL);
    size_t x = registry_place(key, a), y = registry_place(key, b);
    if (x != y) return x < y ? -1 : 1;
    char *end_a, *end_b;
    double number_a = strtod(a, &end_a), number_b = strtod(b, &end_b);
    if (!*end_a && !*end_b && number_a != number_b) return number_a < number_b ? -1 : 1;
    return strcmp(a, b);
}

static int compare_replicates(const Replicate *a, const Replicate *b) {
    if (a->seed != b->seed) return a->seed < b->seed ? -1 : 1;
    if (a->init_seed != b->init_seed) return a->init_seed < b->init_seed ? -1 : 1;
    return (a->data_seed > b->data_seed) - (a->data_seed < b->data_seed);
}

static Replicate replicate_of(const Outcome *outcome) {
    return (Replicate){outcome->seed, outcome->init_seed, outcome->data_seed};
}

static const Comparison *sorted_by; /* of the qsort below, which has no context */

static int compare_outcomes(const void *a, const void *b) {
    const Outcome *x = a, *y = b;
    for (size_t k = 0; k < sorted_by->key_count; k++) {
        const char *key = sorted_by->keys[k];
        int order = compare_values(key, flatten_find(&x->keys, key), flatten_find(&y->keys, key));
        if (order) return order;
    }
    const Replicate of_x = replicate_of(x), of_y = replicate_of(y);
    int order = compare_replicates(&of_x, &of_y);
    return order ? order : strcmp(x->path, y->path);
}

static void make_groups(Comparison *c) {
    sorted_by = c;
    qsort(c->outcomes, c->outcome_count, sizeof *c->outcomes, compare_outcomes);
    c->groups = ALLOCATE(most(c->outcome_count, 1), Group);
    for (size_t i = 0; i < c->outcome_count; i++) {
        if (i == 0 || !agree(c, &c->outcomes[i - 1], &c->outcomes[i])) {
            Group *group = &c->groups[c->group_count++];
            group->values = ALLOCATE(c->key_count, const char *);
            for (size_t k = 0; k < c->key_count; k++)
                group->values[k] = flatten_find(&c->outcomes[i].keys, c->keys[k]);
            group->runs = ALLOCATE(c->outcome_count - i, size_t);
        }
        Group *group = &c->groups[c->group_count - 1];
        group->runs[group->run_count++] = i;
    }
}

static int compare_integers(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int compare_replicates_of_qsort(const void *a, const void *b) {
    return compare_replicates(a, b);
}

/* Sorts and drops repeated elements; returns how many are left. */
static size_t sort_unique(void *list, size_t count, size_t size,
                          int (*compare)(const void *, const void *)) {
    if (!count) return 0;
    qsort(list, count, size, compare);
    char *bytes = list;
    size_t kept = 1;
    for (size_t i = 1; i < count; i++)
        if (compare(bytes + (kept - 1) * size, bytes + i * size))
            memmove(bytes + kept++ * size, bytes + i * size, size);
    return kept;
}

static void fill_block(const Comparison *c, Block *block) {
    size_t runs = 0, lengths = 0;
    for (size_t g = block->first; g < block->first + block->count; g++)
        for (size_t r = 0; r < c->groups[g].run_count; r++, runs++)
            lengths += c->outcomes[c->groups[g].runs[r]].length_count;
    block->replicates = ALLOCATE(runs, Replicate);
    block->lengths = ALLOCATE(most(lengths, 1), int64_t);
    block->shortest_length = INT64_MAX;
    for (size_t g = block->first; g < block->first + block->count; g++)
        for (size_t r = 0; r < c->groups[g].run_count; r++) {
            const Outcome *run = &c->outcomes[c->groups[g].runs[r]];
            block->replicates[block->replicate_count++] = replicate_of(run);
            for (size_t i = 0; i < run->length_count; i++)
                block->lengths[block->length_count++] = run->lengths[i].length;
            if (run->trained_length > block->trained_length)
                block->trained_length = run->trained_length;
            if (run->shortest_length < block->shortest_length)
                block->shortest_length = run->shortest_length;
        }
    block->replicate_count = sort_unique(block->replicates, block->replicate_count,
                                         sizeof *block->replicates, compare_replicates_of_qsort);
    block->length_count =
        sort_unique(block->lengths, block->length_count, sizeof *block->lengths, compare_integers);
}

static void make_blocks(Comparison *c) {
    c->blocks = ALLOCATE(most(c->group_count, 1), Block);
    for (size_t g = 0; g < c->group_count; g++) {
        if (g == 0 || !same_text(c->groups[g - 1].values[0], c->groups[g].values[0]))
            c->blocks[c->block_count++] =
                (Block){.task = c->outcomes[c->groups[g].runs[0]].task, .first = g};
        c->blocks[c->block_count - 1].count++;
        c->groups[g].block = c->block_count - 1;
    }
    for (size_t b = 0; b < c->block_count; b++) fill_block(c, &c->blocks[b]);
}

/* The label that the study gives to all runs of the group, or NULL. */
static const char *study_label(const Comparison *c, const Group *group) {
    const char *label = c->outcomes[group->runs[0]].label;
    for (size_t r = 1; r < group->run_count; r++)
        if (!same_text(label, c->outcomes[group->runs[r]].label)) return NULL;
    return label;
}

/* Does another group of the task with the same label have another value of the key? */
static bool tells_apart(const Comparison *c, const Group *group, const char *label, size_t key) {
    const Block *block = &c->blocks[group->block];
    for (size_t g = block->first; g < block->first + block->count; g++)
        if (same_text(study_label(c, &c->groups[g]), label) &&
            !same_text(c->groups[g].values[key], group->values[key]))
            return true;
    return false;
}

/* "rope fraction=0.25"; or the label of the study, with those keys in which its groups differ. */
static char *label_of(const Comparison *c, const Group *group, const char *label) {
    Words words = {0};
    FILE *to = words_stream(&words);
    const char *space = "";
    if (label) fputs(label, to), space = " ";
    for (size_t k = 1; k < c->key_count; k++) {
        const char *value = group->values[k];
        const char *dot = strrchr(c->keys[k], '.'), *name = dot ? dot + 1 : c->keys[k];
        if (!value || (label && !tells_apart(c, group, label, k))) continue;
        if (!strcmp(c->keys[k], "model.encoding"))
            fprintf(to, "%s%s", space, value);
        else
            fprintf(to, "%s%s=%s", space, name, value);
        space = " ";
    }
    if (!*space) fputs(c->outcomes[group->runs[0]].encoding, to);
    return words_close(&words);
}

/* ---- what has to be said --------------------------------------------------------------- */

/* Drops runs that are not complete and second copies of a run. */
static void leave_out(Comparison *c) {
    size_t kept = 0;
    for (size_t i = 0; i < c->outcome_count; i++) {
        Outcome *run = &c->outcomes[i];
        const Outcome *twin = NULL;
        for (size_t k = 0; k < kept && !twin; k++)
            if (!strcmp(c->outcomes[k].config_sha256, run->config_sha256)) twin = &c->outcomes[k];
        if (!run->completed)
            comparison_note(c, "left out, not complete (%s): %s", run->exit_reason, run->path);
        else if (twin)
            comparison_note(c, "the same run twice, counted once: %s and %s", twin->path,
                            run->path);
        if (!run->completed || twin)
            outcome_free(run);
        else
            c->outcomes[kept++] = *run;
    }
    c->outcome_count = kept;
}

/* The values that the runs of a list of groups have, with the groups of each where they are told
   apart: "0.001 (rope, nope), 0.003 (alibi)". */
static char *values_text(const Comparison *c, const Group *groups, size_t count, const char *key,
                         bool name_groups) {
    enum { MOST = 6 };
    const char *values[MOST + 1];
    size_t found = 0;
    for (size_t g = 0; g < count; g++)
        for (size_t r = 0; r < groups[g].run_count && found <= MOST; r++) {
            const char *value = flatten_find(&c->outcomes[groups[g].runs[r]].keys, key);
            bool known = !value;
            for (size_t v = 0; v < found && !known; v++) known = !strcmp(values[v], value);
            if (!known) values[found++] = value;
        }
    Words text = {0};
    FILE *to = words_stream(&text);
    for (size_t v = 0; v < least(found, MOST); v++) {
        fprintf(to, "%s%s", v ? ", " : "", values[v]);
        const char *separator = " (";
        for (size_t g = 0; g < count && name_groups; g++) {
            const Outcome *first = &c->outcomes[groups[g].runs[0]];
            if (!same_text(flatten_find(&first->keys, key), values[v])) continue;
            fprintf(to, "%s%s", separator, groups[g].label);
            separator = ", ";
        }
        if (separator[0] == ',') fputc(')', to);
    }
    if (found > MOST) fprintf(to, ", and more");
    return words_close(&text);
}

/* Groups that mix configs, and groups that differ in more than what they are grouped by. */
static void note_keys(Comparison *c, const Block *block, const Keys *differing) {
    size_t *firsts = ALLOCATE(block->count, size_t);
    for (size_t k = 0; k < differing->count; k++) {
        const char *key = differing->list[k];
        bool grouping = false, mixed = false;
        for (size_t j = 0; j < c->key_count; j++) grouping |= !strcmp(c->keys[j], key);
        if (grouping) continue;
        for (size_t g = 0; g < block->count; g++) {
            const Group *group = &c->groups[block->first + g];
            firsts[g] = group->runs[0];
            if (!any_differ(c, group->run_count, group->runs, key)) continue;
            mixed = true;
            char *values = values_text(c, group, 1, key, false);
            comparison_note(c, "%s: the group %s mixes different configs, %s: %s", block->task,
                            group->label, key, values);
            free(values);
        }
        if (mixed || !any_differ(c, block->count, firsts, key)) continue;
        char *values = values_text(c, &c->groups[block->first], block->count, key, true);
        comparison_note(c, "%s: the groups differ in more than their names, %s: %s", block->task,
                        key, values);
        free(values);
    }
    free(firsts);
}

static size_t runs_of(const Comparison *c, const Group *group, const Replicate *replicate) {
    size_t count = 0;
    for (size_t r = 0; r < group->run_count; r++) {
        const Replicate of_run = replicate_of(&c->outcomes[group->runs[r]]);
        count += !compare_replicates(&of_run, replicate);
    }
    return count;
}

static void note_seeds(Comparison *c, const Block *block) {
    for (size_t g = block->first; g < block->first + block->count; g++) {
        const Group *group = &c->groups[g];
        Words missing = {0}, repeated = {0};
        size_t seeds = 0;
        for (size_t s = 0; s < block->replicate_count; s++) {
            size_t runs = runs_of(c, group, &block->replicates[s]);
            seeds += runs > 0;
            if (!runs)
                fprintf(words_stream(&missing), " %lld", (long long)block->replicates[s].seed);
            if (runs > 1)
                fprintf(words_stream(&repeated), " %lld", (long long)block->replicates[s].seed);
        }
        char *no = words_close(&missing), *twice = words_close(&repeated);
        if (*no)
            comparison_note(c, "%s: %s has no result of seed%s", block->task, group->label, no);
        if (*twice)
            comparison_note(c,
                            "%s: %s has several runs of seed%s; a seed counts once, with their "
                            "mean",
                            block->task, group->label, twice);
        if (seeds == 1)
            comparison_note(c, "%s: %s has a single seed, n=1: no interval, no ranking",
                            block->task, group->label);
        free(no);
        free(twice);
    }
}

static void note_lengths(Comparison *c, const Block *block) {
    for (size_t g = block->first; g < block->first + block->count; g++)
        for (size_t r = 0; r < c->groups[g].run_count; r++) {
            const Outcome *run = &c->outcomes[c->groups[g].runs[r]];
            if (run->length_count == block->length_count) continue;
            comparison_note(c, "%s: runs were evaluated at different lengths, %s among them",
                            block->task, run->path);
            return;
        }
}

/* How many different texts. */
static size_t kinds(const Comparison *c, const char *(*text)(const Outcome *outcome)) {
    size_t count = 0;
    for (size_t i = 0; i < c->outcome_count; i++) {
        size_t j = 0;
        while (j < i && strcmp(text(&c->outcomes[i]), text(&c->outcomes[j]))) j++;
        count += j == i;
    }
    return count;
}

static const char *build_of(const Outcome *outcome) {
    return outcome->binary_sha256;
}
static const char *cpu_of(const Outcome *outcome) {
    return outcome->cpu;
}

/* The same run has the same bits with one build on one CPU only. */
static void note_builds(Comparison *c) {
    const size_t builds = kinds(c, build_of), cpus = kinds(c, cpu_of);
    if (builds > 1 || cpus > 1)
        comparison_note(c, "the results are of %zu build%s on %zu kind%s of CPU, which agree in "
                           "rounding only",
                        builds, builds > 1 ? "s" : "", cpus, cpus > 1 ? "s" : "");
    for (size_t i = 0; i < c->outcome_count; i++)
        if (c->outcomes[i].moves)
            comparison_note(c, "went on with another build or on another CPU: %s",
                            c->outcomes[i].path);
}

/* ---- the whole ------------------------------------------------------------------------- */

char *comparison_make(Comparison *c, size_t count, Outcome *outcomes, const char *by) {
    *c = (Comparison){.outcome_count = count, .outcomes = outcomes};
    leave_out(c);
    Keys all = all_keys(c->outcome_count, c->outcomes);
    Keys differing = differing_keys(c, &all);
    char *wrong = choose_keys(c, &all, &differing, by);
    if (!wrong) {
        make_groups(c);
        make_blocks(c);
        for (size_t g = 0; g < c->group_count; g++)
            c->groups[g].label =
                label_of(c, &c->groups[g], by ? NULL : study_label(c, &c->groups[g]));
        /* The keys lie in the outcomes, which were sorted: their texts stay. */
        for (size_t b = 0; b < c->block_count; b++) {
            note_keys(c, &c->blocks[b], &differing);
            note_seeds(c, &c->blocks[b]);
            note_lengths(c, &c->blocks[b]);
        }
        note_builds(c);
    }
    free(all.list);
    free(differing.list);
    return wrong;
}

void comparison_free(Comparison *c) {
    for (size_t i = 0; i < c->outcome_count; i++) outcome_free(&c->outcomes[i]);
    for (size_t k = 0; k < c->key_count; k++) free(c->keys[k]);
    for (size_t g = 0; g < c->group_count; g++) {
        free(c->groups[g].values);
        free(c->groups[g].label);
        free(c->groups[g].runs);
    }
    for (size_t b = 0; b < c->block_count; b++) {
        free(c->blocks[b].replicates);
        free(c->blocks[b].lengths);
    }
    for (size_t n = 0; n < c->note_count; n++) free(c->notes[n]);
    free(c->outcomes);
    free(c->keys);
    free(c->groups);
    free(c->blocks);
    free(c->notes);
    *c = (Comparison){0};
}

/* ---- values ---------------------------------------------------------------------------- */

const char *const metric_words[METRICS] = METRIC_WORDS;

char *quantity_name(Quantity quantity) {
    switch (quantity.kind) {
    case QUANTITY_METRIC: return format_text("%lld", (long long)quantity.length);
    case QUANTITY_TRAINED: return copy_text("trained lengths");
    case QUANTITY_AREA: return copy_text("area");
    case QUANTITY_LONGEST: return format_text("longest >= %g %%", 100 * COMPARISON_GOOD);
    }
    CHECK(false, "there is no quantity %d", (int)quantity.kind);
}

static double area_of(const Outcome *run, Metric metric) {
    size_t within = 0;
    while (within < run->length_count && run->lengths[within].length <= run->trained_length)
        within++;
    if (!within) return (double)NAN;
    size_t first = within - 1, count = run->length_count - first;
    double *x = ALLOCATE(count, double), *y = ALLOCATE(count, double);
    for (size_t i = 0; i < count; i++) {
        x[i] = (double)run->lengths[first + i].length;
        y[i] = run->lengths[first + i].metric[metric];
    }
    double area = statistics_area(count, x, y);
    free(x);
    free(y);
    return area;
}

static double trained_of(const Outcome *run, Metric metric) {
    double worst = (double)NAN;
    for (size_t i = 0; i < run->length_count; i++) {
        const OutcomeLength *row = &run->lengths[i];
        if (row->length < run->shortest_length || row->length > run->trained_length) continue;
        worst = fmin(worst, row->metric[metric]); /* of fmin's arguments a NaN is left out */
    }
    return worst;
}

static double longest_of(const Outcome *run, Metric metric) {
    int64_t longest = 0;
    for (size_t i = 0; i < run->length_count && run->lengths[i].metric[metric] >= COMPARISON_GOOD;
         i++)
        longest = run->lengths[i].length;
    return (double)longest;
}

static double value_of(const Outcome *run, Quantity quantity) {
    if (quantity.kind == QUANTITY_TRAINED) return trained_of(run, quantity.metric);
    if (quantity.kind == QUANTITY_AREA) return area_of(run, quantity.metric);
    if (quantity.kind == QUANTITY_LONGEST) return longest_of(run, quantity.metric);
    const OutcomeLength *row = outcome_at(run, quantity.length);
    return row && !row->undefined ? row->metric[quantity.metric] : (double)NAN;
}

void comparison_values(const Comparison *c, const Group *group, Quantity quantity, double *values) {
    const Block *block = &c->blocks[group->block];
    for (size_t s = 0; s < block->replicate_count; s++) {
        double sum = 0;
        size_t count = 0;
        for (size_t r = 0; r < group->run_count; r++) {
            const Outcome *run = &c->outcomes[group->runs[r]];
            const Replicate of_run = replicate_of(run);
            if (compare_replicates(&of_run, &block->replicates[s])) continue;
            sum += value_of(run, quantity);
            count++;
        }
        values[s] = count ? sum / (double)count : (double)NAN;
    }
}

/* Drops the NaNs; returns how many values are left. */
static size_t measured(size_t count, double *values) {
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (!isnan(values[i])) values[kept++] = values[i];
    return kept;
}

static double evaluation_noise(const Comparison *c, const Group *group, Quantity quantity) {
    double sum = 0;
    size_t count = 0;
    for (size_t r = 0; r < group->run_count; r++) {
        const OutcomeLength *row = outcome_at(&c->outcomes[group->runs[r]], quantity.length);
        if (!row) continue;
        double width = row->interval[quantity.metric].high - row->interval[quantity.metric].low;
        if (isnan(width)) continue;
        sum += width / 2;
        count++;
    }
    return count ? sum / (double)count : (double)NAN;
}

GroupStatistics comparison_statistics(const Comparison *c, const Group *group, Quantity quantity) {
    size_t room = c->blocks[group->block].replicate_count;
    double *values = ALLOCATE(room, double);
    comparison_values(c, group, quantity, values);
    size_t n = measured(room, values);
    GroupStatistics s = {.n = n,
                         .mean = statistics_mean(n, values),
                         .deviation = statistics_deviation(n, values),
                         .least = (double)NAN,
                         .middle = (double)NAN,
                         .largest = (double)NAN,
                         .evaluation = (double)NAN};
    if (n) {
        qsort(values, n, sizeof *values, compare_numbers);
        s.least = values[0], s.middle = values[(n - 1) / 2], s.largest = values[n - 1];
    }
    if (quantity.kind == QUANTITY_METRIC) s.evaluation = evaluation_noise(c, group, quantity);
    free(values);
    return s;
}

Interval comparison_interval(const Comparison *c, const Group *group, Quantity quantity,
                             bool *bootstrap) {
    size_t room = c->blocks[group->block].replicate_count;
    double *values = ALLOCATE(room, double);
    comparison_values(c, group, quantity, values);
    size_t n = measured(room, values);
    bool share = quantity.metric != METRIC_LOSS && quantity.kind != QUANTITY_LONGEST;
    *bootstrap = false;
    Interval interval =
        share ? interval_shares(n, values, 0.95, bootstrap) : interval_mean(n, values, 0.95);
    free(values);
    return interval;
}

const char *comparison_undefined(const Comparison *c, const Group *group, int64_t length) {
    for (size_t r = 0; r < group->run_count; r++) {
        const OutcomeLength *row = outcome_at(&c->outcomes[group->runs[r]], length);
        if (row && row->undefined) return row->undefined;
    }
    return NULL;
}

/* ---- differences ----------------------------------------------------------------------- */

Interval comparison_adjusted(size_t n, const double *values, double p, double holm) {
    return interval_mean(n, values, 1 - 0.05 * (p > 0 ? p / holm : 1));
}

Difference *comparison_differences(const Comparison *c, const Block *block, Quantity quantity) {
    size_t seeds = block->replicate_count, pairs = block->count * (block->count - 1) / 2, pair = 0;
    double *values = ALLOCATE(block->count * seeds, double);
    double *gap = ALLOCATE(most(pairs, 1) * seeds, double);
    double *p = ALLOCATE(most(pairs, 1), double), *holm = ALLOCATE(most(pairs, 1), double);
    Difference *differences = ALLOCATE(most(pairs, 1), Difference);
    for (size_t g = 0; g < block->count; g++)
        comparison_values(c, &c->groups[block->first + g], quantity, values + g * seeds);
    for (size_t a = 0; a < block->count; a++)
        for (size_t b = a + 1; b < block->count; b++, pair++) {
            double *of_pair = gap + pair * seeds;
            for (size_t s = 0; s < seeds; s++)
                of_pair[s] = values[a * seeds + s] - values[b * seeds + s];
            differences[pair] =
                (Difference){.left = block->first + a,
                             .right = block->first + b,
                             .test = statistics_test(measured(seeds, of_pair), of_pair)};
            p[pair] = differences[pair].test.p;
        }
    statistics_holm(pairs, p, holm);
    for (pair = 0; pair < pairs; pair++) {
        differences[pair].holm = holm[pair];
        differences[pair].interval =
            comparison_adjusted(differences[pair].test.n, gap + pair * seeds, p[pair], holm[pair]);
    }
    free(values);
    free(gap);
    free(p);
    free(holm);
    return differences;
}

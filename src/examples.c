#include "src/examples.h"

#include <stdlib.h>
#include <string.h>

Examples examples_new(size_t room) {
    return (Examples){
        .room = room,
        .tokens = ALLOCATE(room, int32_t),
        .targets = ALLOCATE(room, int32_t),
        .scored = ALLOCATE(room, uint8_t),
        .distance = ALLOCATE(room, int32_t),
    };
}

void examples_free(Examples *examples) {
    free(examples->tokens);
    free(examples->targets);
    free(examples->scored);
    free(examples->distance);
    *examples = (Examples){0};
}

static Example item(const Examples *examples, size_t i) {
    size_t start = i * examples->length;
    return (Example){examples->tokens + start, examples->targets + start, examples->scored + start,
                     examples->distance + start};
}

const char *examples_fill(const Task *task, const void *options, int64_t seed, RngPurpose purpose,
                   uint64_t step, size_t first_item, size_t items, size_t length, Examples *out) {
    static char sentence[1024];
    const char *reason = task->refuse(options, length);
    CHECK(!reason, "%s at length %zu: %s", task->name, length, reason);
    CHECK(items <= out->room / length, "no room for %zu examples of %zu tokens", items, length);
    out->items = items;
    out->length = length;
    for (size_t i = 0; i < items; i++) {
        Rng rng = rng_stream(seed, purpose, step, first_item + i);
        Example example = item(out, i);
        task->generate(options, &rng, length, &example);
        const char *failed = task->failed ? task->failed(options) : NULL;
        if (!failed) continue;
        snprintf(sentence, sizeof sentence, "item %zu: %s", first_item + i, failed);
        return sentence;
    }
    return NULL;
}

/* ---- as a person reads it ------------------------------------------------------------------ */

enum {
    WIDTH = 100, /* columns of a line */
    LABEL = 7,   /* of them for the name of a row */
    TEXT = 32,   /* bytes of a token's text */
    ENDS = 2     /* lines of tokens shown at either end of a long context */
};

/* One example in lines of `columns` cells. */
typedef struct {
    FILE *to;
    const Task *task;
    const void *options;
    Example example;
    size_t length, cell, columns;
} Page;

typedef const char *CellText(const Page *page, size_t t, char text[TEXT]);

static const char *place_text(const Page *page, size_t t, char text[TEXT]) {
    (void)page;
    snprintf(text, TEXT, "%zu", t);
    return text;
}

static const char *input_text(const Page *page, size_t t, char text[TEXT]) {
    return page->task->token_text(page->options, page->example.tokens[t], text);
}

static const char *answer_text(const Page *page, size_t t, char text[TEXT]) {
    if (!page->example.scored[t]) return ".";
    return page->task->token_text(page->options, page->example.targets[t], text);
}

static const char *source_text(const Page *page, size_t t, char text[TEXT]) {
    if (!page->example.scored[t]) return "";
    return place_text(page, t - (size_t)page->example.distance[t], text);
}

static void print_row(const Page *page, const char *label, CellText *cell, size_t from, size_t to) {
    char line[WIDTH + TEXT], text[TEXT];
    int used = snprintf(line, sizeof line, "%-*s", LABEL, label);
    for (size_t t = from; t < to; t++)
        used += snprintf(line + used, sizeof line - (size_t)used, "%*s", (int)page->cell,
                         cell(page, t, text));
    while (line[used - 1] == ' ') used--;
    fprintf(page->to, "%.*s\n", used, line);
}

static size_t count_scored(const Example *example, size_t from, size_t to) {
    size_t count = 0;
    for (size_t t = from; t < to; t++) count += example->scored[t];
    return count;
}

static void print_line(const Page *page, size_t from, size_t to) {
    fputc('\n', page->to);
    print_row(page, "place", place_text, from, to);
    print_row(page, "input", input_text, from, to);
    print_row(page, "answer", answer_text, from, to);
    if (count_scored(&page->example, from, to)) print_row(page, "from", source_text, from, to);
}

/* A cell takes the widest place or token, and a space. */
static size_t cell_width(const Page *page) {
    char text[TEXT];
    size_t widest = strlen(place_text(page, page->length - 1, text));
    for (size_t t = 0; t < page->length; t++) {
        widest = most(widest, strlen(input_text(page, t, text)));
        widest = most(widest, strlen(answer_text(page, t, text)));
    }
    return widest + 1;
}

static void print_example(Page *page) {
    const Example *example = &page->example;
    size_t length = page->length, last = length - 1;
    page->cell = cell_width(page);
    page->columns = (WIDTH - LABEL) / page->cell;
    while (!example->scored[last]) last--;
    size_t source = last - (size_t)example->distance[last];
    size_t lines = (length + page->columns - 1) / page->columns;

    size_t left_out = 0; /* start of the tokens that are being left out */
    for (size_t line = 0; line < lines; line++) {
        size_t from = line * page->columns, to = least(from + page->columns, length);
        bool shown = line < ENDS || line + ENDS >= lines || (from <= source + 1 && source < to);
        if (shown && left_out)
            fprintf(page->to, "\n%*s... %zu tokens, %zu of them scored ...\n", LABEL, "",
                    from - left_out, count_scored(example, left_out, from));
        if (shown) print_line(page, from, to);
        if (shown)
            left_out = 0;
        else if (!left_out)
            left_out = from;
    }
}

static void print_task(FILE *to, const Task *task, const void *options) {
    char line[WIDTH + TEXT], text[TEXT], last[TEXT];
    int vocabulary = task->vocabulary(options), token = 0;
    task->token_text(options, vocabulary - 1, last);
    size_t used = (size_t)snprintf(line, sizeof line, "vocabulary  %d tokens:", vocabulary);
    size_t limit = WIDTH - strlen(" ... ") - strlen(last);
    for (; token < vocabulary; token++) {
        task->token_text(options, token, text);
        if (used + 1 + strlen(text) > limit) break;
        used += (size_t)snprintf(line + used, sizeof line - used, " %s", text);
    }
    if (token < vocabulary) snprintf(line + used, sizeof line - used, " ... %s", last);
    fprintf(to, "%s: %s\n%s\n", task->name, task->summary, line);
    fprintf(to, "chance      %.3g %%, a guess among the possible answers\n",
            100 * task->chance(options));
    fprintf(to, "answer      expected %s; from: the first place it needs\n",
            task->masked && task->masked(options) ? "at its place, from the whole input"
                                                  : "after the input up to its place");
}

void examples_print(FILE *to, const Task *task, const void *options, const Examples *examples) {
    print_task(to, task, options);
    for (size_t i = 0; i < examples->items; i++) {
        Page page = {to, task, options, item(examples, i), examples->length, 0, 0};
        fprintf(to, "\nexample %zu of %zu: %zu tokens, %zu scored\n", i + 1, examples->items,
                examples->length, count_scored(&page.example, 0, examples->length));
        print_example(&page);
    }
}

#include "src/show.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/report/lengths.h"
#include "src/report/table.h"
#include "src/store/guard.h"
#include "src/store/result.h"
#include "src/store/store.h"
#include "src/utf8.h"

enum {
    CURVE_WIDTH = 60, /* characters of a curve */
    PICTURE_ROWS = 8  /* lines of the picture of a table */
};

typedef struct {
    StoreReader *reader;
    FILE *to;
    const Terminal *terminal;
} Page;

/* A text of the file (or NULL) as the terminal can take it. */
static char *readable(const Page *page, char *text) {
    return text ? utf8_clean(text, !page->terminal->utf8) : NULL;
}

static char *attribute(const Page *page, const char *path, const char *name) {
    return readable(page, store_read_attribute_text(page->reader, path, name));
}

/* The numbers of an array (free), or NULL. */
static double *numbers(const Page *page, const char *path, int *rank, size_t dims[STORE_RANK]) {
    StoreType type;
    *rank = store_shape(page->reader, path, &type, dims);
    if (*rank < 0) return NULL;
    size_t count = 1;
    for (int axis = 0; axis < *rank; axis++) count *= dims[axis];
    double *values = ALLOCATE(count, double);
    if (store_read(page->reader, path, STORE_FLOAT64, *rank, dims, values)) return values;
    free(values);
    return NULL;
}

/* ---- curves ---------------------------------------------------------------------------- */

/* The means of at most CURVE_WIDTH equal parts, NaN left out; returns their number. */
static size_t condense(size_t count, const double *values, double parts[CURVE_WIDTH]) {
    size_t width = least(count, CURVE_WIDTH);
    for (size_t part = 0; part < width; part++) {
        double sum = 0;
        size_t measured = 0;
        for (size_t i = part * count / width; i < (part + 1) * count / width; i++)
            if (!isnan(values[i])) sum += values[i], measured++;
        parts[part] = measured ? sum / (double)measured : (double)NAN;
    }
    return width;
}

static void extremes(size_t count, const double *values, double *low, double *high) {
    *low = HUGE_VAL, *high = -HUGE_VAL;
    for (size_t i = 0; i < count; i++)
        if (isfinite(values[i])) *low = fmin(*low, values[i]), *high = fmax(*high, values[i]);
}

static void print_curve(const Page *page, size_t count, const double *values, double low,
                        double high) {
    double parts[CURVE_WIDTH];
    char curve[3 * CURVE_WIDTH + 1];
    size_t width = condense(count, values, parts);
    fputs(terminal_sparkline(page->terminal, width, parts, low, high, curve), page->to);
}

static void print_title(const Page *page, const char *title) {
    fprintf(page->to, "\n%s%s%s\n", terminal_bold(page->terminal), title,
            terminal_plain(page->terminal));
}

/* ---- the run --------------------------------------------------------------------------- */

static void print_time(FILE *to, double seconds) {
    if (seconds < 60)
        fprintf(to, "%.1f s", seconds);
    else if (seconds < 3600)
        fprintf(to, "%.0f min %02.0f s", floor(seconds / 60), fmod(seconds, 60));
    else
        fprintf(to, "%.1f h", seconds / 3600);
}

static bool print_run(const Page *page) {
    static const char *const names[] = {"name",        "task",        "encoding",
                                        "exit_reason", "created_utc", "harness_version"};
    enum { TEXTS = sizeof names / sizeof *names };
    char *texts[TEXTS];
    bool good = true;
    for (size_t i = 0; i < TEXTS; i++) {
        texts[i] = attribute(page, "/", names[i]);
        good = good && texts[i];
    }
    int64_t seed, parameters, moves;
    good = good && store_read_attribute_integer(page->reader, "/", "seed", &seed) &&
           store_read_attribute_integer(page->reader, "/", "parameter_count", &parameters);
    if (good) {
        fprintf(page->to, "%s%s: %s with %s, seed %lld%s\n", terminal_bold(page->terminal),
                texts[0], texts[1], texts[2], (long long)seed, terminal_plain(page->terminal));
        fprintf(page->to, "%s, %lld parameters, written %s by version %s\n", texts[3],
                (long long)parameters, texts[4], texts[5]);
        if (store_read_attribute_integer(page->reader, "/", "moves", &moves) && moves)
            fprintf(page->to, "went on with another build or on another CPU %lld time%s\n",
                    (long long)moves, moves == 1 ? "" : "s");
    }
    for (size_t i = 0; i < TEXTS; i++) free(texts[i]);
    return good;
}

static bool print_training(const Page *page) {
    size_t rows = 0;
    double *step = store_read_column(page->reader, "/train/step", &rows),
           *loss = store_read_column(page->reader, "/train/loss", &rows),
           *accuracy = store_read_column(page->reader, "/train/accuracy", &rows),
           *tokens = store_read_column(page->reader, "/train/tokens", &rows),
           *seconds = store_read_column(page->reader, "/train/seconds", &rows);
    bool good = step && loss && accuracy && tokens && seconds;
    if (good && rows) {
        double low, high;
        print_title(page, "training");
        fprintf(page->to, "%.0f steps, %.0f tokens in ", step[rows - 1], tokens[rows - 1]);
        print_time(page->to, seconds[rows - 1]);
        extremes(rows, loss, &low, &high);
        fprintf(page->to, "\nloss      ");
        print_curve(page, rows, loss, 0, high);
        fprintf(page->to, "  %.4f .. %.4f\naccuracy  ", loss[0], loss[rows - 1]);
        print_curve(page, rows, accuracy, 0, 1);
        fprintf(page->to, "  %.4f .. %.4f\n", accuracy[0], accuracy[rows - 1]);
    }
    free(step);
    free(loss);
    free(accuracy);
    free(tokens);
    free(seconds);
    return good;
}

/* ---- accuracy by length ---------------------------------------------------------------- */

static bool print_lengths(const Page *page) {
    ResultRows final;
    int64_t trained;
    bool good = result_read_rows(page->reader, &final) &&
                store_read_attribute_integer(page->reader, "/", "trained_length", &trained);
    if (good && final.count) {
        LengthRow *rows = ALLOCATE(final.count, LengthRow);
        for (size_t i = 0; i < final.count; i++)
            rows[i] = (LengthRow){
                .length = (int64_t) final.length[i],
                .undefined = final.defined[i] != 0 ? NULL : readable(page, final.reason[i]),
                .token_accuracy = final.token_accuracy[i],
                .interval = {final.token_accuracy_low[i], final.token_accuracy_high[i]},
                .sequence_accuracy = final.sequence_accuracy[i],
                .loss = final.loss[i],
                .random = final.baseline_random[i],
                .majority = final.baseline_majority[i]};
        print_title(page, "accuracy by length");
        lengths_print(final.count, rows, trained, page->to, page->terminal);
        fprintf(page->to, "%.0f ", final.length[0]);
        print_curve(page, final.count, final.token_accuracy, 0, 1);
        fprintf(page->to, " %.0f\n", final.length[final.count - 1]);
        free(rows);
    }
    result_free_rows(&final);
    return good;
}

/* ---- position tables ------------------------------------------------------------------- */

/* "position 48 x channel 32" */
static char *shape_text(const Page *page, const char *path, int rank, const size_t *dims) {
    char *names = attribute(page, path, "shape_names"), *rest = names;
    char *text = copy_text("");
    for (int axis = 0; axis < rank; axis++) {
        const char *name = rest ? strsep(&rest, ",") : "";
        char *longer = format_text("%s%s%s %zu", text, axis ? " x " : "", name, dims[axis]);
        free(text);
        text = longer;
    }
    free(names);
    return text;
}

/* How many rows of a learned table a gradient ever reached. */
static void print_trained_rows(const Page *page, const char *folder, const char *path) {
    char *name = store_read_attribute_text(page->reader, path, "update_count");
    if (!name) return;
    char *count_path = format_text("%s/%s", folder, name);
    size_t rows = 0, trained = 0;
    double *count = store_read_column(page->reader, count_path, &rows);
    for (size_t i = 0; count && i < rows; i++) trained += count[i] > 0;
    if (count) fprintf(page->to, ", %zu of %zu rows trained", trained, rows);
    free(count);
    free(count_path);
    free(name);
}

/* The last axis from left to right, the one before it from top to bottom, of the first layer (or
   head, …) where there are more axes. */
static void print_picture(const Page *page, int rank, const size_t *dims, const double *values,
                          double low, double high) {
    size_t columns = dims[rank - 1], rows = rank > 1 ? dims[rank - 2] : 1;
    size_t lines = least(rows, PICTURE_ROWS);
    double *mean = ALLOCATE(columns, double);
    for (size_t line = 0; line < lines; line++) {
        size_t from = line * rows / lines, to = (line + 1) * rows / lines;
        for (size_t c = 0; c < columns; c++) {
            mean[c] = 0;
            for (size_t r = from; r < to; r++) mean[c] += values[r * columns + c];
            mean[c] /= (double)(to - from);
        }
        fprintf(page->to, "  %8zu  ", from);
        print_curve(page, columns, mean, low, high);
        fputc('\n', page->to);
    }
    free(mean);
}

/* Frequencies and the like span decades: they are drawn by their logarithm. */
static void draw_table(const Page *page, int rank, const size_t *dims, double *values, size_t count,
                       double low, double high) {
    if (low > 0 && high / low >= 100) {
        for (size_t i = 0; i < count; i++) values[i] = log10(values[i]);
        low = log10(low), high = log10(high);
    }
    if (rank && low < high) print_picture(page, rank, dims, values, low, high);
}

static bool print_table(const Page *page, const char *folder, const char *name) {
    char *path = format_text("%s/%s", folder, name), *kind = attribute(page, path, "kind");
    int rank = 0;
    size_t dims[STORE_RANK];
    double *values = kind ? numbers(page, path, &rank, dims) : NULL; /* scales, counts: no kind */
    if (values) {
        char *shape = shape_text(page, path, rank, dims), *shown = readable(page, copy_text(name));
        double low, high;
        size_t count = 1;
        for (int axis = 0; axis < rank; axis++) count *= dims[axis];
        extremes(count, values, &low, &high);
        fprintf(page->to, "%s: %s, %s, %.4g .. %.4g", shown, shape, kind, low + 0.0, high + 0.0);
        print_trained_rows(page, folder, path);
        fputc('\n', page->to);
        draw_table(page, rank, dims, values, count, low, high);
        free(shown);
        free(shape);
    }
    bool good = values || !kind;
    free(values);
    free(kind);
    free(path);
    return good;
}

static bool print_tables(const Page *page) {
    char *encoding = store_read_attribute_text(page->reader, "/", "encoding");
    char *folder = format_text("/position/%s", encoding ? encoding : "");
    char **names;
    int count = store_members(page->reader, folder, &names);
    if (count > 0) print_title(page, "position tables");
    bool good = count >= 0;
    for (int i = 0; i < count && good; i++) good = print_table(page, folder, names[i]);
    store_free_names(names, count);
    free(folder);
    free(encoding);
    return good;
}

/* ---------------------------------------------------------------------------------------- */

typedef struct {
    const char *path;
    const Terminal *terminal;
} Request;

static bool show_body(const void *argument, FILE *to) {
    const Request *request = argument;
    const char *reason;
    StoreReader *reader = store_open(request->path, &reason);
    if (!reader) {
        fputs(reason, to);
        return false;
    }
    /* Kept back until the whole file was read: half a page would look like a whole one. */
    char *text;
    size_t size;
    FILE *memory = memory_open(&text, &size);
    const Page page = {reader, memory, request->terminal};
    char *format = attribute(&page, "/", "format");
    bool result = format && !strcmp(format, STORE_RUN_FORMAT);
    bool shown = result && store_known_version(reader) && print_run(&page) &&
                 print_training(&page) && print_lengths(&page) && print_tables(&page);
    memory_close(memory);
    if (format && !result)
        fprintf(to, "is a %s file and not a result", format);
    else
        fputs(shown ? text : store_reason(reader), to);
    free(format);
    free(text);
    store_close(reader);
    return shown;
}

int show_result(const char *path, FILE *to, const Terminal *terminal) {
    char *text;
    bool shown = guard_run(show_body, &(Request){path, terminal}, &text);
    if (shown)
        fputs(text, to);
    else
        fprintf(stderr, "harness: %s: %s\n", path, text);
    free(text);
    return shown ? EXIT_DONE : EXIT_FAILED;
}

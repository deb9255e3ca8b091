/* rows: /evaluate/final of a result file, for those who print or compare it. */
#include "src/store/internal.h"
#include "src/store/result.h"

#include <stdlib.h>

static const struct {
    const char *name;
    size_t offset;
} columns[] = {
    {"length", offsetof(ResultRows, length)},
    {"defined", offsetof(ResultRows, defined)},
    {"token_accuracy", offsetof(ResultRows, token_accuracy)},
    {"token_accuracy_low", offsetof(ResultRows, token_accuracy_low)},
    {"token_accuracy_high", offsetof(ResultRows, token_accuracy_high)},
    {"sequence_accuracy", offsetof(ResultRows, sequence_accuracy)},
    {"loss", offsetof(ResultRows, loss)},
    {"examples", offsetof(ResultRows, examples)},
    {"baseline_random", offsetof(ResultRows, baseline_random)},
    {"baseline_majority", offsetof(ResultRows, baseline_majority)},
};
enum { COLUMNS = sizeof columns / sizeof *columns };

static double **column_at(ResultRows *rows, size_t i) {
    return (double **)(void *)((char *)rows + columns[i].offset);
}

bool result_read_rows(StoreReader *reader, ResultRows *rows) {
    *rows = (ResultRows){0};
    for (size_t i = 0; i < COLUMNS; i++) {
        char *path = format_text("/evaluate/final/%s", columns[i].name);
        size_t count = 0;
        double *values = *column_at(rows, i) = store_read_column(reader, path, &count);
        bool good = values && (i == 0 || count == rows->count ||
                               store_refuse(reader, "%s has %zu places and not %zu", path, count,
                                            rows->count));
        if (good && count > OPTION_LIST_SIZE)
            good = store_refuse(reader, "%s has %zu places, more lengths than a config", path,
                                count);
        free(path);
        if (!good) return false;
        rows->count = count;
    }
    rows->reasons = store_read_texts(reader, "/evaluate/undefined_reason", &rows->reason);
    return rows->reasons == (int)rows->count ||
           (rows->reasons >= 0 && store_refuse(reader,
                                               "/evaluate/undefined_reason has %d places "
                                               "and not %zu",
                                               rows->reasons, rows->count));
}

void result_free_rows(ResultRows *rows) {
    for (size_t i = 0; i < COLUMNS; i++) free(*column_at(rows, i));
    store_free_names(rows->reason, rows->reasons);
    *rows = (ResultRows){0};
}

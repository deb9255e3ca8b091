#include "src/report/lengths.h"

#include <math.h>

#include "src/report/table.h"

enum { BAR_WIDTH = 12 };

/* Two decimals, cut and not rounded upwards to 100.00: only what is whole says so. */
static const char *percent_text(double share, char text[16]) {
    double percent = 100 * share;
    if (share < 1 && percent > 99.99) percent = 99.99;
    snprintf(text, 16, isfinite(share) ? "%.2f" : "-", percent);
    return text;
}

static void percent_cell(Table *table, double share) {
    char text[16];
    table_cell(table, "%s", percent_text(share, text));
}

void lengths_print(size_t count, const LengthRow *rows, int64_t trained_length, FILE *to,
                   const Terminal *terminal) {
    Table *table = table_create();
    table_column(table, "length ", TABLE_RIGHT);
    table_column(table, "token %", TABLE_RIGHT);
    table_column(table, "", TABLE_LEFT);
    table_column(table, "95 % interval", TABLE_LEFT);
    table_column(table, "sequence %", TABLE_RIGHT);
    table_column(table, "loss", TABLE_RIGHT);
    table_column(table, "random %", TABLE_RIGHT);
    table_column(table, "majority %", TABLE_RIGHT);

    bool marked = false;
    for (size_t i = 0; i < count; i++) {
        const LengthRow *row = &rows[i];
        bool mark = row->length == trained_length;
        marked = marked || mark;
        table_cell(table, "%lld%c", (long long)row->length, mark ? '*' : ' ');
        if (row->undefined) {
            table_rest(table, "not defined: %s", row->undefined);
            continue;
        }
        char bar[3 * BAR_WIDTH + 1], low[16], high[16];
        percent_cell(table, row->token_accuracy);
        table_cell(table, "%s", terminal_bar(terminal, row->token_accuracy, BAR_WIDTH, bar));
        table_cell(table, "%s .. %s", percent_text(row->interval.low, low),
                   percent_text(row->interval.high, high));
        percent_cell(table, row->sequence_accuracy);
        table_cell(table, isfinite(row->loss) ? "%.4f" : "-", row->loss);
        percent_cell(table, row->random);
        percent_cell(table, row->majority);
    }
    table_print(table, to, terminal);
    if (marked) fprintf(to, "* the longest length trained at\n");
    table_free(table);
}

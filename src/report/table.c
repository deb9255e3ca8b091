#include "src/report/table.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "src/utf8.h"

typedef struct {
    size_t count; /* cells so far */
    char *cells[TABLE_COLUMNS];
    bool rest; /* the last cell is one text over the columns that are left */
} Row;

struct Table {
    TableAlign align[TABLE_COLUMNS];
    Row *rows; /* the titles first */
    size_t count, room;
};

static Row *add_row(Table *table) {
    if (table->count == table->room) {
        size_t room = most(16, 2 * table->room);
        Row *larger = ALLOCATE(room, Row);
        if (table->count) memcpy(larger, table->rows, table->count * sizeof(Row));
        free(table->rows);
        table->rows = larger;
        table->room = room;
    }
    return &table->rows[table->count++];
}

static bool is_over(const Table *table, const Row *row) {
    return row == table->rows || row->rest || row->count == table->rows->count;
}

static void add_cell(Row *row, const char *format, va_list arguments) {
    va_list again;
    va_copy(again, arguments);
    size_t size = (size_t)vsnprintf(NULL, 0, format, again) + 1;
    va_end(again);
    char *text = ALLOCATE(size, char);
    vsnprintf(text, size, format, arguments);
    row->cells[row->count++] = text;
}

static Row *current_row(Table *table) {
    Row *last = &table->rows[table->count - 1];
    return is_over(table, last) ? add_row(table) : last;
}

Table *table_create(void) {
    Table *table = ALLOCATE(1, Table);
    add_row(table);
    return table;
}

void table_free(Table *table) {
    for (size_t r = 0; r < table->count; r++)
        for (size_t c = 0; c < table->rows[r].count; c++) free(table->rows[r].cells[c]);
    free(table->rows);
    free(table);
}

void table_column(Table *table, const char *title, TableAlign align) {
    Row *titles = table->rows;
    CHECK(table->count == 1 && titles->count < TABLE_COLUMNS, "column %s", title);
    table->align[titles->count] = align;
    titles->cells[titles->count++] = copy_text(title);
}

void table_cell(Table *table, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    add_cell(current_row(table), format, arguments);
    va_end(arguments);
}

void table_rest(Table *table, const char *format, ...) {
    Row *row = current_row(table);
    va_list arguments;
    va_start(arguments, format);
    add_cell(row, format, arguments);
    va_end(arguments);
    row->rest = true;
}

static void print_blanks(FILE *to, size_t count) {
    fprintf(to, "%*s", (int)count, "");
}

/* Blanks are held back until something follows them. */
static void print_row(const Table *table, const Row *row, const size_t *widths, FILE *to) {
    size_t blanks = 0;
    for (size_t c = 0; c < row->count; c++) {
        const char *cell = row->cells[c];
        bool rest = row->rest && c + 1 == row->count;
        size_t fill = rest ? 0 : widths[c] - utf8_width(cell);
        if (table->align[c] == TABLE_RIGHT) blanks += fill;
        size_t length = strlen(cell);
        while (length && cell[length - 1] == ' ') length--;
        if (length) {
            print_blanks(to, blanks);
            fwrite(cell, 1, length, to);
            blanks = 0;
        }
        blanks += strlen(cell) - length + 2;
        if (table->align[c] == TABLE_LEFT) blanks += fill;
    }
}

void table_print(const Table *table, FILE *to, const Terminal *terminal) {
    CHECK(is_over(table, &table->rows[table->count - 1]), "a table ends within a row");
    size_t widths[TABLE_COLUMNS] = {0};
    for (size_t r = 0; r < table->count; r++) {
        const Row *row = &table->rows[r];
        for (size_t c = 0; c + row->rest < row->count; c++)
            widths[c] = most(widths[c], utf8_width(row->cells[c]));
    }
    for (size_t r = 0; r < table->count; r++) {
        const Row *row = &table->rows[r];
        const char *style = row->rest ? terminal_dim(terminal) : "";
        if (r == 0) style = terminal_bold(terminal);
        fputs(style, to);
        print_row(table, row, widths, to);
        fprintf(to, "%s\n", *style ? terminal_plain(terminal) : "");
    }
}

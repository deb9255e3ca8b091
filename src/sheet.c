#include "src/sheet.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/json.h"

typedef enum { SHEET_TEXT, SHEET_INTEGER, SHEET_NUMBER, SHEET_BOOLEAN } SheetType;

typedef union {
    char *text;
    int64_t integer;
    double number;
    uint8_t boolean;
} Cell;

typedef struct {
    char *name;
    SheetType type;
    Cell *cells; /* [room] */
} Column;

struct Sheet {
    size_t rows, room, count, at; /* at: the column that comes next in the row */
    Column *columns;
};

Sheet *sheet_create(void) {
    return ALLOCATE(1, Sheet);
}

void sheet_free(Sheet *sheet) {
    for (size_t c = 0; c < sheet->count; c++) {
        Column *column = &sheet->columns[c];
        for (size_t r = 0; r < sheet->rows && column->type == SHEET_TEXT; r++)
            free(column->cells[r].text);
        free(column->name);
        free(column->cells);
    }
    free(sheet->columns);
    free(sheet);
}

/* The list with room for one more element of `size` bytes, at doubled room; takes over the old. */
static void *longer(void *list, size_t count, size_t room, size_t size) {
    void *larger = allocate(room, size);
    if (count) memcpy(larger, list, count * size);
    free(list);
    return larger;
}

static void add(Sheet *sheet, const char *name, SheetType type, Cell cell) {
    if (sheet->rows == 0) {
        sheet->columns = longer(sheet->columns, sheet->count, sheet->count + 1, sizeof(Column));
        sheet->columns[sheet->count++] = (Column){copy_text(name), type, NULL};
    }
    CHECK(sheet->at < sheet->count && !strcmp(sheet->columns[sheet->at].name, name) &&
              sheet->columns[sheet->at].type == type,
          "row %zu has the column %s out of order", sheet->rows, name);
    Column *column = &sheet->columns[sheet->at++];
    if (sheet->rows >= sheet->room || !column->cells)
        column->cells = longer(column->cells, sheet->rows, most(16, 2 * sheet->rows), sizeof(Cell));
    column->cells[sheet->rows] = cell;
}

void sheet_text(Sheet *sheet, const char *column, const char *value) {
    add(sheet, column, SHEET_TEXT, (Cell){.text = copy_text(value ? value : "")});
}

void sheet_integer(Sheet *sheet, const char *column, int64_t value) {
    add(sheet, column, SHEET_INTEGER, (Cell){.integer = value});
}

void sheet_number(Sheet *sheet, const char *column, double value) {
    add(sheet, column, SHEET_NUMBER, (Cell){.number = value});
}

void sheet_boolean(Sheet *sheet, const char *column, bool value) {
    add(sheet, column, SHEET_BOOLEAN, (Cell){.boolean = value});
}

void sheet_end_row(Sheet *sheet) {
    CHECK(sheet->at == sheet->count, "row %zu is too short", sheet->rows);
    sheet->at = 0;
    if (sheet->rows >= sheet->room) sheet->room = most(16, 2 * sheet->rows);
    sheet->rows++;
}

/* ---- CSV ------------------------------------------------------------------------------- */

static void print_field(FILE *to, const char *text) {
    if (!text[strcspn(text, ",\"\r\n")]) {
        fputs(text, to);
        return;
    }
    fputc('"', to);
    for (; *text; text++) fputs(*text == '"' ? "\"\"" : (const char[]){*text, 0}, to);
    fputc('"', to);
}

static void print_cell(FILE *to, SheetType type, Cell cell) {
    char text[32];
    switch (type) {
    case SHEET_TEXT: print_field(to, cell.text); break;
    case SHEET_INTEGER: fprintf(to, "%lld", (long long)cell.integer); break;
    case SHEET_NUMBER:
        if (!isnan(cell.number)) fputs(json_number_text(cell.number, text), to);
        break;
    case SHEET_BOOLEAN: fputs(cell.boolean ? "true" : "false", to); break;
    }
}

char *sheet_csv(const Sheet *sheet) {
    char *text;
    size_t size;
    FILE *to = memory_open(&text, &size);
    for (size_t c = 0; c < sheet->count; c++) {
        if (c) fputc(',', to);
        print_field(to, sheet->columns[c].name);
    }
    fputc('\n', to);
    for (size_t r = 0; r < sheet->rows; r++)
        for (size_t c = 0; c < sheet->count; c++) {
            print_cell(to, sheet->columns[c].type, sheet->columns[c].cells[r]);
            fputc(c + 1 < sheet->count ? ',' : '\n', to);
        }
    memory_close(to);
    return text;
}

/* ---- HDF5 ------------------------------------------------------------------------------ */

static void store_column(const Sheet *sheet, const Column *column, StoreWriter *writer,
                         const char *path) {
    static const StoreType types[] = {[SHEET_INTEGER] = STORE_INT64,
                                      [SHEET_NUMBER] = STORE_FLOAT64,
                                      [SHEET_BOOLEAN] = STORE_BOOLEAN};
    const char **texts = ALLOCATE(most(sheet->rows, 1), const char *);
    double *numbers = ALLOCATE(most(sheet->rows, 1), double);
    int64_t *integers = ALLOCATE(most(sheet->rows, 1), int64_t);
    uint8_t *booleans = ALLOCATE(most(sheet->rows, 1), uint8_t);
    const void *data[] = {
        [SHEET_INTEGER] = integers, [SHEET_NUMBER] = numbers, [SHEET_BOOLEAN] = booleans};
    for (size_t r = 0; r < sheet->rows; r++) {
        const Cell cell = column->cells[r];
        switch (column->type) {
        case SHEET_TEXT: texts[r] = cell.text; break;
        case SHEET_INTEGER: integers[r] = cell.integer; break;
        case SHEET_NUMBER: numbers[r] = cell.number; break;
        case SHEET_BOOLEAN: booleans[r] = cell.boolean; break;
        }
    }
    if (column->type == SHEET_TEXT)
        store_texts(writer, path, sheet->rows, texts);
    else
        store_array(writer, path, types[column->type], 1, &sheet->rows, data[column->type], false);
    free(texts);
    free(numbers);
    free(integers);
    free(booleans);
}

void sheet_store(const Sheet *sheet, StoreWriter *writer, const char *path) {
    int64_t *row = ALLOCATE(most(sheet->rows, 1), int64_t);
    for (size_t r = 0; r < sheet->rows; r++) row[r] = (int64_t)r;
    char *scale = format_text("%s/row", path);
    store_group(writer, path);
    store_array(writer, scale, STORE_INT64, 1, &sheet->rows, row, false);
    store_scale(writer, scale, 0, scale);
    for (size_t c = 0; c < sheet->count; c++) {
        char *name = format_text("%s/%s", path, sheet->columns[c].name);
        store_column(sheet, &sheet->columns[c], writer, name);
        store_scale(writer, name, 0, scale);
        free(name);
    }
    free(scale);
    free(row);
}

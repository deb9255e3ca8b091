/* sheet: rows of named columns, once for CSV and once for HDF5.

       Sheet *sheet = sheet_create();
       sheet_text(sheet, "task", "copy");   sheet_integer(sheet, "length", 34);
       sheet_end_row(sheet);

   Every row gives the same columns in the same order. */
#ifndef SRC_SHEET_H
#define SRC_SHEET_H

#include "src/store/store.h"

typedef struct Sheet Sheet;

Sheet *sheet_create(void);
void sheet_free(Sheet *sheet);

void sheet_text(Sheet *sheet, const char *column, const char *value); /* NULL: "" */
void sheet_integer(Sheet *sheet, const char *column, int64_t value);
void sheet_number(Sheet *sheet, const char *column, double value); /* NaN: not measured */
void sheet_boolean(Sheet *sheet, const char *column, bool value);
void sheet_end_row(Sheet *sheet);

/* RFC 4180 with a line of names first; NaN is an empty field, numbers are exact. Memory of the
   caller. */
char *sheet_csv(const Sheet *sheet);

/* A group of one-dimensional columns on the scale `row`. */
void sheet_store(const Sheet *sheet, StoreWriter *writer, const char *path);

#endif

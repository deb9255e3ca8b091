/* table: rows of text in aligned columns.

       Table *table = table_create();
       table_column(table, "length", TABLE_RIGHT);
       table_column(table, "loss", TABLE_RIGHT);
       table_cell(table, "%d", 256);   table_cell(table, "%.3f", 0.25);
       table_cell(table, "%d", 512);   table_rest(table, "not defined: %s", reason);
       table_print(table, stdout, &terminal);
       table_free(table);
*/
#ifndef SRC_REPORT_TABLE_H
#define SRC_REPORT_TABLE_H

#include <stdio.h>

#include "src/base.h"
#include "src/report/terminal.h"

typedef struct Table Table;
typedef enum { TABLE_LEFT, TABLE_RIGHT } TableAlign;

enum { TABLE_COLUMNS = 16 };

Table *table_create(void);
void table_free(Table *table);

/* Columns come before the first cell. */
void table_column(Table *table, const char *title, TableAlign align);

/* The next cell, row by row; a row is over when it has a cell for each column. */
void table_cell(Table *table, const char *format, ...) PRINTF_LIKE(2, 3);

/* Ends the row with one text over the columns that are left, however long it is. */
void table_rest(Table *table, const char *format, ...) PRINTF_LIKE(2, 3);

/* Two blanks between columns, none at the ends of lines. */
void table_print(const Table *table, FILE *to, const Terminal *terminal);

#endif

/* rows: learned tables with a row a position (learned, tupe). */
#ifndef ENCODINGS_ROWS_H
#define ENCODINGS_ROWS_H

#include "encodings/encoding.h"

/* The rows that an option asks for; 0: those of the longest length of training. */
static inline size_t rows_wanted(const EncodingShape *shape, int64_t positions) {
    return positions ? (size_t)positions : most(shape->trained_length, 1);
}

/* Where a position is between row 0 and row `last`: further ones are there, unless `length`, not
   0, asks to stretch the table over a sequence that is longer than it. */
static inline double rows_place(double position, double last, size_t length) {
    double x = position > 0 ? position : 0;
    if ((double)length > last + 1) x *= last / ((double)length - 1);
    return x < last ? x : last;
}

#endif

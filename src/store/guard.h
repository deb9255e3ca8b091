/* guard: work on a file that may crash libhdf5, done in a child process. Before the first OpenMP
   region only: with libgomp a forked child hangs in its own. */
#ifndef SRC_STORE_GUARD_H
#define SRC_STORE_GUARD_H

#include <stdbool.h>
#include <stdio.h>

/* Prints to `to`: what was asked for (true), or one sentence why not (false). */
typedef bool GuardBody(const void *argument, FILE *to);

/* Runs body(argument, to) in a child and gives what it printed and returned. A child that crashes
   or takes minutes gives false and a sentence. Sentences are without control characters. The caller
   frees *text. */
bool guard_run(GuardBody *body, const void *argument, char **text);

#endif

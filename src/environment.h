/* environment: what ran, where: the program's own build, the machine and its libraries. For
   --version, the result file and the check that a checkpoint goes on in the same program. */
#ifndef SRC_ENVIRONMENT_H
#define SRC_ENVIRONMENT_H

#include <stdbool.h>
#include <stdio.h>

typedef struct {
    const char *version, *git_commit;
    bool git_dirty;
    const char *isa, *compiler, *cflags;
    char binary_sha256[65]; /* "" where the program cannot read itself */
    char cpu[128], os[256];
    const char *openmp; /* "4.5", or "off" */
    const char *blas, *lua;
    int threads;
} Environment;

/* Fills everything; threads is OpenMP's at this moment. */
Environment environment_look(void);

void environment_print(FILE *to, const Environment *environment);

/* Cores that this process may use: the least of its affinity and its cgroup's quota. */
int environment_cores(void);

/* Bytes of memory of the machine, or of this process's cgroup when that is less. */
double environment_memory(void);

#endif

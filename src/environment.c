#include "src/environment.h"

#include "build_info.h"
#include "src/base.h"
#include "src/gemm.h"
#include "src/lua/config.h"
#include "src/sha256.h"
#include "src/store/store.h"

#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#ifdef _OPENMP
#include <omp.h>
#endif

/* A file of the system, NULL where it has none. It is not taken for missing when there is no memory
   to open it with: what is read there goes into results. */
static FILE *open_system(const char *path) {
    FILE *file = fopen(path, "re");
    if (!file && errno == ENOMEM) die(EXIT_INTERNAL, "the system has no memory to open %s", path);
    return file;
}

static void find_cpu(char *to, size_t size) {
    snprintf(to, size, "unknown");
    FILE *file = open_system("/proc/cpuinfo");
    char line[256];
    while (file && fgets(line, sizeof line, file)) {
        const char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) || !colon) continue;
        snprintf(to, size, "%.*s", (int)strcspn(colon + 2, "\n"), colon + 2);
        break;
    }
    if (file) fclose(file);
}

int environment_cores(void) {
    int cores = (int)sysconf(_SC_NPROCESSORS_ONLN);
#if defined(__linux__)
    cpu_set_t set;
    if (!sched_getaffinity(0, sizeof set, &set)) cores = CPU_COUNT(&set);
    double quota, period;
    FILE *file = open_system("/sys/fs/cgroup/cpu.max");
    if (file) {
        if (fscanf(file, "%lf %lf", &quota, &period) == 2 && period > 0)
            cores = (int)fmin(cores, fmax(1, ceil(quota / period)));
        fclose(file);
    }
#endif
    return cores > 0 ? cores : 1;
}

double environment_memory(void) {
    double bytes = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE), limit;
    FILE *file = open_system("/sys/fs/cgroup/memory.max");
    if (file) {
        if (fscanf(file, "%lf", &limit) == 1 && limit > 0) bytes = fmin(bytes, limit);
        fclose(file);
    }
    return bytes;
}

Environment environment_look(void) {
    Environment e = {.version = HARNESS_VERSION,
                     .git_commit = HARNESS_GIT_COMMIT,
                     .git_dirty = HARNESS_GIT_DIRTY,
                     .isa = HARNESS_ISA,
                     .compiler = HARNESS_COMPILER,
                     .cflags = HARNESS_CFLAGS,
                     .openmp = "off",
                     .blas = gemm_description(),
                     .lua = config_lua_version(),
                     .threads = 1};
    if (!sha256_file("/proc/self/exe", e.binary_sha256)) *e.binary_sha256 = 0;
    find_cpu(e.cpu, sizeof e.cpu);
    struct utsname os;
    if (!uname(&os)) snprintf(e.os, sizeof e.os, "%s %s %s", os.sysname, os.release, os.machine);
#ifdef _OPENMP
    e.openmp = _OPENMP >= 202011   ? "5.1 or later"
               : _OPENMP >= 201811 ? "5.0"
               : _OPENMP >= 201511 ? "4.5"
                                   : "before 4.5";
    e.threads = omp_get_max_threads();
#endif
    return e;
}

void environment_print(FILE *to, const Environment *e) {
    fprintf(to, "harness %s (%.12s%s), %s, real = %s\n", e->version, e->git_commit,
            e->git_dirty ? ", changed since" : "", e->isa, REAL_NAME);
    fprintf(to, "compiler  %s\n", e->compiler);
    fprintf(to, "flags     %s\n", e->cflags);
    fprintf(to, "products  %s\n", e->blas);
    fprintf(to, "OpenMP    %s, %d threads of %d cores\n", e->openmp, e->threads,
            environment_cores());
    fprintf(to, "HDF5      %s\n", store_library_version());
    fprintf(to, "Lua       %s\n", e->lua);
    fprintf(to, "machine   %s, %s\n", e->cpu, e->os);
    fprintf(to, "binary    sha256 %s\n", *e->binary_sha256 ? e->binary_sha256 : "unknown");
}

/* command: the subcommands. Each gets the parsed command line and returns the exit code. */
#ifndef SRC_COMMAND_COMMAND_H
#define SRC_COMMAND_COMMAND_H

#include "src/report/terminal.h"
#include "src/study.h"

enum { COMMAND_WORDS = 256 };

typedef struct {
    int word_count; /* what is neither an option nor KEY=VALUE */
    const char *words[COMMAND_WORDS];
    int override_count;
    const char *overrides[COMMAND_WORDS];
    const char *output;    /* --output, or NULL */
    const char *out_file;  /* -o, or NULL */
    const char *tokens;    /* --tokens, or NULL */
    const char *by;        /* --by, or NULL */
    int64_t length, count; /* --length, -n; 0: not given */
    int threads, jobs, index, shard, shards; /* 0: not given */
    const char *emit;                        /* --emit, or NULL */
    const char *expect; /* of a worker: SHA-256 of the config that it is started for */
    bool plan, fail_fast, fresh, quiet, json, csv, encodings;
    ColorChoice color;
    const char *line; /* the command line as given, quoted for a shell */
} Command;

int command_run(const Command *command);
int command_check(const Command *command);
int command_list(const Command *command);
int command_data(const Command *command);
int command_forward(const Command *command);
int command_show(const Command *command);
int command_compare(const Command *command);
int command_verify(const Command *command);
int command_bench(const Command *command);
int command_bench_encodings(const Command *command, const Terminal *terminal); /* of bench */
int command_selftest(const Command *command);
int command_docs(const Command *command);

/* The study of words[0] with the overrides: of one run where the file is a config and no override
   is a sweep. Prints every mistake and ends with EXIT_USAGE when it has some. */
Study command_study(const Command *command);

/* The only run of it, or the one that --index says; otherwise it ends with EXIT_USAGE as well. */
Config command_config(const Command *command);
/* The same of a study that command_study gave, which is freed. */
Config command_take(const Command *command, Study *study);

/* Ends with EXIT_USAGE and a hint to `help`. */
_Noreturn void command_usage(const char *format, ...) PRINTF_LIKE(1, 2);

#endif

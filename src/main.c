/* The command line: a table of subcommands, nothing numeric. */
#include "src/command/command.h"
#include "src/environment.h"
#include "src/gemm.h"
#include "src/pool.h"
#include "src/shell.h"
#include "src/stop.h"
#include "src/store/store.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef _OPENMP
#include <omp.h>
#endif

static int command_help(const Command *command);
static int command_version(const Command *command);

static const struct {
    const char *name, *arguments, *summary;
    int (*act)(const Command *command);
} commands[] = {
    {"", "CONFIG.lua [KEY=VALUE ...]",
     "train, evaluate, write results/NAME/ID/run.h5; all runs of a study", command_run},
    {"check", "CONFIG.lua [KEY=VALUE ...]",
     "validate; print every value and its source, sizes, time", command_check},
    {"list", "[encodings|tasks|positions|configs|experiments] [NAME]",
     "what there is, and the options of one", command_list},
    {"data", "CONFIG.lua [-n N] [-o OUT.h5]",
     "print N examples as a person reads them, or write the initial weights and N steps' data",
     command_data},
    {"forward", "RESULT.h5|CONFIG.lua [-o OUT.h5]",
     "run the weights; write logits, q, k, v, scores, probabilities", command_forward},
    {"show", "RESULT.h5 ...", "what a result file holds, as text", command_show},
    {"compare", "RESULT.h5|FOLDER ...", "groups of runs over their seeds, and how they differ",
     command_compare},
    {"verify", "FILE.h5 ...", "is it a whole, well-formed file of this format", command_verify},
    {"bench", "[CONFIG.lua ...] [--encodings|--plan]",
     "speed of training and evaluation against the peak of this machine, or of each encoding "
     "against nope; --plan, how a step is divided among threads",
     command_bench},
    {"selftest", "", "every encoding against PyTorch, published values and its own promises",
     command_selftest},
    {"docs", "config|annotations", "print docs/CONFIG.md, or annotations for Lua editors",
     command_docs},
    {"help", "", "this page", command_help},
    {"--version", "", "version, build, libraries, machine", command_version},
};

static const char options_text[] =
    "Options: --threads N   threads (default: OMP_NUM_THREADS, or the cores that it may use)\n"
    "         --output DIR  where results go (default: results)\n"
    "         --fresh       start again instead of going on\n"
    "         --quiet       no progress and no table;  --json  events on stdout\n"
    "         --color auto|always|never\n"
    "         studies: --jobs N, runs side by side (default: one a core); --plan, print them;\n"
    "         --index I, --shard I/N, only that run or part; --fail-fast, stop at a failure;\n"
    "         --emit slurm|parallel, print a job script\n"
    "         forward: -o OUT.h5, --length N or --tokens FILE.h5;  data: -n N, -o OUT.h5\n"
    "         compare: --by KEY,KEY, --length N (of the differences), --csv\n"
    "Exit codes: 0 done, 1 failed, 2 wrong config or usage, 74 output error, 75 stopped after a\n"
    "checkpoint (the same command goes on), 70 internal.\n";

static int command_help(const Command *command) {
    (void)command;
    printf("harness: what does a positional encoding do to length generalisation?\n\n");
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        char usage[96];
        snprintf(usage, sizeof usage, "./harness %s%s%s", commands[i].name,
                 *commands[i].name && *commands[i].arguments ? " " : "", commands[i].arguments);
        printf("  %s\n      %s\n", usage, commands[i].summary);
    }
    printf("\n%s", options_text);
    return EXIT_DONE;
}

static int command_version(const Command *command) {
    (void)command;
    const Environment environment = environment_look();
    environment_print(stdout, &environment);
    return EXIT_DONE;
}

/* ---- parsing ------------------------------------------------------------------------------- */

static int64_t whole_number(const char *option, const char *text, int64_t most) {
    char *end;
    errno = 0;
    const long long value = strtoll(text, &end, 10);
    if (errno || *end || end == text || value < 1 || value > most)
        command_usage("%s: expected a whole number from 1 to %lld, got \"%s\"", option,
                      (long long)most, text);
    return value;
}

static ColorChoice color_choice(const char *text) {
    static const char *const words[] = {"auto", "always", "never"};
    for (int i = 0; i < 3; i++)
        if (!strcmp(text, words[i])) return (ColorChoice)i;
    command_usage("--color: expected auto, always or never, got \"%s\"", text);
}

/* The line as a person can paste it into a shell, without --fresh: it is for going on. */
static char *quoted_line(int argc, char **argv) {
    const char **words = ALLOCATE((size_t)argc, const char *);
    int count = 0;
    words[count++] = "./harness";
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--fresh") != 0) words[count++] = argv[i];
    char *line = shell_words(count, words);
    free(words);
    return line;
}

/* "2/5": the second of five parts. */
static void read_shard(Command *command, const char *text) {
    int end = 0;
    if (sscanf(text, "%d/%d%n", &command->shard, &command->shards, &end) != 2 || text[end] ||
        command->shard < 1 || command->shard > command->shards)
        command_usage("--shard: expected I/N with I from 1 to N, got \"%s\"", text);
}

static void add(int *count, const char **list, const char *word) {
    if (*count == COMMAND_WORDS) command_usage("more than %d words", COMMAND_WORDS);
    list[(*count)++] = word;
}

static void set_threads(int threads) {
#ifdef _OPENMP
    omp_set_num_threads(threads);
    if (threads > environment_cores())
        warn("%d threads on %d cores that this process may use", threads, environment_cores());
#else
    if (threads > 1) warn("built without OpenMP: one thread");
#endif
}

static Command parse(int argc, char **argv, int from) {
    Command c = {0};
    for (int i = from; i < argc; i++) {
        const char *word = argv[i];
        const struct {
            const char *name;
            const char **text;
        } texts[] = {{"--output", &c.output}, {"-o", &c.out_file}, {"--tokens", &c.tokens},
                     {"--by", &c.by},         {"--emit", &c.emit}, {"--expect", &c.expect}};
        int64_t worker = 0;
        const struct {
            const char *name;
            int *number;
            int64_t *large;
            int64_t most;
        } numbers[] = {
            {"--threads", &c.threads, NULL, 1024}, {"--jobs", &c.jobs, NULL, 1024},
            {"--index", &c.index, NULL, 1 << 20},  {"--length", NULL, &c.length, 1 << 24},
            {"-n", NULL, &c.count, 1 << 20},       {"--worker", NULL, &worker, 1 << 30}};
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        bool known = false;
        if (*word != '-') {
            /* KEY=VALUE, unless it is a path */
            const char *equals = strchr(word, '=');
            if (equals && !memchr(word, '/', (size_t)(equals - word)))
                add(&c.override_count, c.overrides, word);
            else
                add(&c.word_count, c.words, word);
            continue;
        }
        for (size_t k = 0; k < sizeof texts / sizeof *texts; k++)
            if (!strcmp(word, texts[k].name)) {
                if (!value) command_usage("%s needs a value", word);
                *texts[k].text = value;
                known = true;
            }
        for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++)
            if (!strcmp(word, numbers[k].name)) {
                if (!value) command_usage("%s needs a value", word);
                const int64_t number = whole_number(word, value, numbers[k].most);
                if (numbers[k].number) *numbers[k].number = (int)number;
                else *numbers[k].large = number;
                known = true;
            }
        if (worker) pool_enter((long)worker);
        if (!strcmp(word, "--color") || !strcmp(word, "--shard")) {
            if (!value) command_usage("%s needs a value", word);
            if (!strcmp(word, "--shard")) read_shard(&c, value);
            else c.color = color_choice(value);
            known = true;
        }
        if (known) {
            i++;
            continue;
        }
        if (!strcmp(word, "--fresh")) c.fresh = true;
        else if (!strcmp(word, "--quiet")) c.quiet = true;
        else if (!strcmp(word, "--json")) c.json = true;
        else if (!strcmp(word, "--csv")) c.csv = true;
        else if (!strcmp(word, "--plan")) c.plan = true;
        else if (!strcmp(word, "--fail-fast")) c.fail_fast = true;
        else if (!strcmp(word, "--keep-going")) c.fail_fast = false;
        else if (!strcmp(word, "--encodings")) c.encodings = true;
        else command_usage("%s: unknown option", word);
    }
    const char *asked = getenv("OMP_NUM_THREADS");
    if (!c.threads && asked && *asked)
        c.threads = (int)whole_number("OMP_NUM_THREADS", asked, 1024);
    set_threads(c.threads ? c.threads : environment_cores());
    c.line = quoted_line(argc, argv);
    return c;
}

static bool ends_with(const char *text, const char *end) {
    const size_t length = strlen(text), tail = strlen(end);
    return length >= tail && !strcmp(text + length - tail, end);
}

/* What was printed has to arrive, too. Nobody is left to tell about a pipe that was closed. */
static _Noreturn void finish(int code) {
    if (fflush(stdout) || ferror(stdout)) {
        if (errno == EPIPE) leave(EXIT_OUTPUT);
        die(EXIT_OUTPUT, "standard output: %s", strerror(errno));
    }
    leave(code);
}

int main(int argc, char **argv) {
    watch_exit();
    stop_install();
    store_start();
    gemm_start();
    if (argc < 2) {
        command_help(NULL);
        finish(EXIT_USAGE);
    }
    const char *name = argv[1];
    if (!strcmp(name, "--help") || !strcmp(name, "-h")) name = "help";
    for (size_t i = 1; i < sizeof commands / sizeof *commands; i++)
        if (!strcmp(name, commands[i].name)) {
            const Command command = parse(argc, argv, 2);
            finish(commands[i].act(&command));
        }
    /* anything else is a config, perhaps behind options */
    const Command command = parse(argc, argv, 1);
    if (!command.word_count || !ends_with(command.words[0], ".lua"))
        command_usage("%s: neither a command nor a config (a file that ends in .lua)",
                      command.word_count ? command.words[0] : name);
    finish(command_run(&command));
}

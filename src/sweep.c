#include "src/sweep.h"

#include "src/environment.h"
#include "src/json.h"
#include "src/pool.h"
#include "src/report/board.h"
#include "src/report/progress.h"
#include "src/run.h"
#include "src/shell.h"
#include "src/stop.h"
#include "src/store/store.h"
#include "src/sweep_report.h"
#include "src/train.h"
#include "src/utf8.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef enum { WAITING, RUNNING, DONE, FAILED, STOPPED, UNDEFINED, ELSEWHERE } State;
enum { STATES = ELSEWHERE + 1, WORDS = 600 };

typedef struct {
    State state;
    int64_t step;
    double loss, flops; /* flops: useful ones of the whole run */
    double at_start;    /* share of the run that was done when it was started */
    char note[64];      /* what it does beside training */
    double started;     /* seconds */
    size_t log_start;   /* bytes of its log that are of earlier starts */
} Cell;

typedef struct {
    Study *study;
    const SweepOptions *options;
    Cell *cells;
    int jobs, threads;
    bool leaving; /* workers were told to stop */
    bool stopped; /* by a signal */
    double started;
    double line_shown;
    Pool *pool;
    Board board;
} Sweep;

static bool chosen(const SweepOptions *options, int cell) {
    if (options->index) return cell + 1 == options->index;
    return !options->shards || cell % options->shards == options->shard - 1;
}

/* ---- plan ---------------------------------------------------------------------------------- */

static const char *status_word(const StudyCell *cell, const char *output) {
    if (cell->undefined) return "not defined";
    switch (run_status(&cell->config, output)) {
    case RUN_COMPLETE: return "complete";
    case RUN_STARTED: return "started";
    case RUN_NEW: break;
    }
    return "new";
}

/* Lengths at which the run will not be evaluated, with the reason. */
static void plan_lengths(Json *json, const Config *config) {
    const ModelShape shape = train_shape(config);
    Model *model = model_describe(&shape);
    bool any = false;
    for (int i = 0; i < config->evaluate.lengths.count; i++) {
        const int64_t length = config->evaluate.lengths.values[i];
        const char *reason = model_defined(model, (size_t)length);
        if (!reason) continue;
        if (!any) json_key(json, "undefined_lengths"), json_open(json, '[');
        any = true;
        json_open(json, '{');
        json_key(json, "length"), json_integer(json, length);
        json_key(json, "reason"), json_text(json, reason);
        json_close(json, '}');
    }
    if (any) json_close(json, ']');
    model_free(model);
}

static void plan_line(Json *json, const Study *study, int index, const char *output) {
    const StudyCell *cell = &study->cells[index];
    json_clear(json);
    json_open(json, '{');
    json_key(json, "index"), json_integer(json, index + 1);
    json_key(json, "id"), json_text(json, cell->config.id);
    json_key(json, "values"), json_open(json, '{');
    for (int i = 0; i < cell->setting_count; i++)
        json_key(json, cell->settings[i].key), json_text(json, cell->settings[i].value);
    json_close(json, '}');
    char *path = study_result(study, index, output);
    json_key(json, "path"), json_text(json, path);
    free(path);
    json_key(json, "status"), json_text(json, status_word(cell, output));
    if (cell->undefined) json_key(json, "reason"), json_text(json, cell->undefined);
    else plan_lengths(json, &cell->config);
    json_close(json, '}');
    json_end_line(json);
}

int sweep_plan(const Study *study, const SweepOptions *options) {
    Json json = {0};
    for (int c = 0; c < study->cell_count; c++) {
        if (!chosen(options, c)) continue;
        plan_line(&json, study, c, options->output);
        fputs(json.text, stdout);
    }
    json_free(&json);
    return EXIT_DONE;
}

/* ---- job scripts --------------------------------------------------------------------------- */

/* The path of this program, in memory of the caller. */
static char *own_path(void) {
    char path[4096];
    const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    path[length > 0 ? length : 0] = 0;
    return copy_text(length > 0 ? path : "./harness");
}

static char *own_folder(void) {
    char *path = getcwd(NULL, 0), *word = shell_word(path ? path : ".");
    free(path);
    return word;
}

/* Array tasks beyond this many take several runs each: Slurm's MaxArraySize is 1001 by default. */
enum { ARRAY = 1000 };

static void emit_slurm(const Study *study, int threads, const char *program, const char *folder,
                       const char *words) {
    const int count = study->cell_count, array = count < ARRAY ? count : ARRAY;
    printf("#!/bin/sh\n"
           "#SBATCH --job-name=%s\n"
           "#SBATCH --array=1-%d\n"
           "#SBATCH --cpus-per-task=%d\n"
           "#SBATCH --signal=B:USR1@120\n"
           "#SBATCH --requeue\n"
           "#SBATCH --open-mode=append\n"
           "# %d runs. Each goes on where it stopped; one that is complete ends at once. Two\n"
           "# minutes ahead of the time limit the run writes a checkpoint (exit code 75), and the\n"
           "# task is queued again.\n"
           "cd %s || exit 1\n"
           "export OMP_NUM_THREADS=\"${SLURM_CPUS_PER_TASK:-%d}\"\n",
           study->name, array, threads, count, folder, threads);
    printf("status=0\n"
           "index=$SLURM_ARRAY_TASK_ID\n"
           "while [ \"$index\" -le %d ]; do\n"
           "    %s %s --index \"$index\" --quiet &\n"
           "    run=$!\n"
           "    trap 'kill -USR1 $run' USR1 TERM\n"
           "    wait $run\n"
           "    code=$?\n"
           "    while [ $code -gt 128 ] && kill -0 $run 2>/dev/null; do\n"
           "        wait $run\n"
           "        code=$?\n"
           "    done\n"
           "    if [ $code = 75 ]; then\n"
           "        scontrol requeue \"${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID\"\n"
           "        exit 75\n"
           "    fi\n"
           "    [ $code = 0 ] || status=$code\n"
           "    index=$((index + %d))\n"
           "done\n"
           "exit $status\n",
           count, program, words, ARRAY);
}

static void emit_parallel(const Study *study, int threads, const char *program,
                          const char *folder, const char *words) {
    printf("#!/bin/sh\n"
           "# %d runs under GNU parallel, as many side by side as there are cores for; this\n"
           "# script takes options of parallel (--jobs, --sshlogin). Started again, it goes on.\n"
           "cd %s || exit 1\n"
           "export OMP_NUM_THREADS=%d\n"
           "seq %d | parallel --jobs %d \"$@\" %s %s --index {} --quiet\n",
           study->cell_count, folder, threads, study->cell_count,
           (int)most(1, (size_t)(environment_cores() / threads)), program, words);
}

bool sweep_emit(const Study *study, const SweepOptions *options, const char *form) {
    static const struct {
        const char *name;
        void (*print)(const Study *study, int threads, const char *program, const char *folder,
                      const char *words);
    } forms[] = {{"slurm", emit_slurm}, {"parallel", emit_parallel}};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        if (strcmp(form, forms[i].name) != 0) continue;
        char *path = own_path(), *program = shell_word(path), *folder = own_folder();
        char *words = shell_words(options->word_count, options->words);
        char *output = shell_word(options->output);
        char *all = format_text("%s --output %s", words, output);
        forms[i].print(study, options->threads ? options->threads : 1, program, folder, all);
        free(path);
        free(program);
        free(folder);
        free(words);
        free(output);
        free(all);
        return true;
    }
    return false;
}

/* ---- the definition, kept beside the results ----------------------------------------------- */

/* study.json: one line a cell, so that the lines of two definitions can be compared. */
static char *definition_text(const Study *study) {
    Json cell = {0};
    char *text = format_text("{\"format\":\"posenc-study\",\"cells\":[\n");
    for (int c = 0; c < study->cell_count; c++) {
        const StudyCell *from = &study->cells[c];
        json_clear(&cell);
        json_open(&cell, '{');
        json_key(&cell, "id"), json_text(&cell, from->config.id ? from->config.id : "");
        json_key(&cell, "cell"), json_text(&cell, from->text);
        json_close(&cell, '}');
        char *longer =
            format_text("%s%s%s\n", text, cell.text, c + 1 < study->cell_count ? "," : "");
        free(text);
        text = longer;
    }
    json_free(&cell);
    char *whole = format_text("%s]}\n", text);
    free(text);
    return whole;
}

static char *read_file(const char *path) {
    struct stat status;
    FILE *file = stat(path, &status) || !S_ISREG(status.st_mode) ? NULL : fopen(path, "re");
    if (!file) return NULL;
    char *text = NULL;
    size_t size = 0;
    FILE *memory = memory_open(&text, &size);
    for (int c; (c = getc(file)) != EOF;) putc(c, memory);
    fclose(file);
    memory_close(memory);
    return text;
}

/* The file may be cut anywhere. */
static const char *next_line(const char *line) {
    line += strcspn(line, "\n");
    return line + (*line != 0);
}

/* The part of a line between two texts: its id, or its cell. */
static bool has_part(const char *line, size_t length, const char *from, const char *to,
                     const char *other) {
    char part[4096];
    const char *start = strstr(line, from), *end = start ? strstr(start + strlen(from), to) : NULL;
    if (!end || end > line + length) return true; /* no line of a cell */
    start += strlen(from);
    snprintf(part, sizeof part, "%s%.*s%s", from, (int)(end - start), start, to);
    return strstr(other, part) != NULL;
}

/* Says how the cells differ from those that the study had at its last start. */
static void compare_definitions(const char *path, const char *old, const char *new) {
    int gone = 0, changed = 0, added = 0;
    for (const char *line = old; *line; line = next_line(line))
        if (!has_part(line, strcspn(line, "\n"), "\"cell\":", "}", new)) gone++;
    for (const char *line = new; *line; line = next_line(line)) {
        const size_t length = strcspn(line, "\n");
        if (!has_part(line, length, "\"cell\":", "}", old)) added++;
        else if (!has_part(line, length, "\"id\":", ",", old)) changed++;
    }
    fprintf(stderr,
            "the study is not what it was at its last start (%s): %d runs are new, %d have other "
            "values,\n%d are no longer in it; results of those stay where they are%s\n",
            path, added, changed, gone, gone + changed ? ":" : "");
    for (const char *line = old; *line; line = next_line(line)) {
        const size_t length = strcspn(line, "\n");
        if (has_part(line, length, "\"id\":", ",", new)) continue;
        char *text = format_text("%.*s", (int)least(length, strcspn(line, "}") + 1), line);
        fprintf(stderr, "    %s\n", utf8_clean(text, false));
        free(text);
    }
}

static void keep_definition(const Study *study, const char *output) {
    if (study->sweep) return; /* each sweep of a config is another one */
    char *path = format_text("%s/%s/study.json", output, study->name);
    char *folder = format_text("%s/%s", output, study->name);
    char *new = definition_text(study), *old = read_file(path);
    if (old && strcmp(old, new) != 0) compare_definitions(path, old, new);
    run_make_folders(folder);
    if (!old || strcmp(old, new) != 0) {
        const int error = store_publish_bytes(new, strlen(new), path);
        if (error) die(EXIT_OUTPUT, "%s: %s", path, strerror(error));
    }
    free(path);
    free(folder);
    free(new);
    free(old);
}

/* ---- messages ------------------------------------------------------------------------------ */

static int count_state(const Sweep *s, State state) {
    int count = 0;
    for (int c = 0; c < s->study->cell_count; c++)
        count += chosen(s->options, c) && s->cells[c].state == state;
    return count;
}

static double share_done(const Sweep *s, int c) {
    const Cell *cell = &s->cells[c];
    if (cell->state == DONE) return 1;
    return (double)cell->step / (double)s->study->cells[c].config.train.total_steps;
}

/* "3 done, 2 running, 5 left, eta 2:10" */
static char *overall_text(const Sweep *s, double now) {
    double done = 0, left = 0;
    for (int c = 0; c < s->study->cell_count; c++) {
        const Cell *cell = &s->cells[c];
        if (!chosen(s->options, c) || !(cell->flops > 0)) continue;
        const double share = share_done(s, c);
        done += cell->flops * (share - cell->at_start);
        if (cell->state == WAITING || cell->state == RUNNING) left += cell->flops * (1 - share);
    }
    static const struct {
        State state;
        const char *word;
    } words[] = {{DONE, "done"},           {FAILED, "failed"},       {STOPPED, "stopped"},
                 {ELSEWHERE, "elsewhere"}, {UNDEFINED, "undefined"}, {RUNNING, "running"}};
    char *text = copy_text(""), duration[32];
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const int count = count_state(s, words[i].state);
        if (!count) continue;
        char *longer = format_text("%s%d %s, ", text, count, words[i].word);
        free(text);
        text = longer;
    }
    const double eta = (now - s->started) * left / done;
    char *whole = format_text("%s%d left%s%s", text, count_state(s, WAITING),
                              isfinite(eta) && left > 0 ? ", eta " : "",
                              isfinite(eta) && left > 0 ? progress_duration(eta, duration) : "");
    free(text);
    return whole;
}

static char *cell_line(const Sweep *s, int c) {
    const Cell *cell = &s->cells[c];
    const Config *config = &s->study->cells[c].config;
    const double total = (double)config->train.total_steps;
    char loss[32] = "";
    if (isfinite(cell->loss)) snprintf(loss, sizeof loss, "  loss %.3f", cell->loss);
    return format_text("%4d  %s  step %lld/%.0f %.0f %%%s%s%s", c + 1, s->study->cells[c].text,
                       (long long)cell->step, total, floor(100 * (double)cell->step / total), loss,
                       *cell->note ? "  " : "", cell->note);
}

/* Seconds between lines where there is no terminal. */
static const double plain_interval = 30;

static void show(Sweep *s, double now) {
    if (s->options->quiet) return;
    if (board_due(&s->board, now)) {
        char **lines = ALLOCATE((size_t)s->jobs + 1, char *);
        int count = 0;
        for (int c = 0; c < s->study->cell_count; c++)
            if (s->cells[c].state == RUNNING) lines[count++] = cell_line(s, c);
        lines[count++] = overall_text(s, now);
        board_show(&s->board, now, count, lines);
        for (int i = 0; i < count; i++) free(lines[i]);
        free(lines);
    } else if (!s->board.terminal.rewrites && now - s->line_shown >= plain_interval) {
        char *text = overall_text(s, now);
        fprintf(stderr, "%s\n", text);
        free(text);
        s->line_shown = now;
    }
}

/* What became of a run, as a line on stdout. */
static void log_cell(const Sweep *s, int c, const char *status, const char *reason) {
    if (!s->options->json) return;
    Json json = {0};
    json_open(&json, '{');
    json_key(&json, "event"), json_text(&json, "run");
    json_key(&json, "index"), json_integer(&json, c + 1);
    json_key(&json, "id"), json_text(&json, s->study->cells[c].config.id);
    json_key(&json, "status"), json_text(&json, status);
    if (reason) json_key(&json, "reason"), json_text(&json, reason);
    json_close(&json, '}');
    json_end_line(&json);
    fputs(json.text, stdout);
    fflush(stdout);
    json_free(&json);
}

/* The last line of a log, if it is behind the first `from` bytes; memory of the caller. */
static char *last_line(const char *path, size_t from) {
    char *text = read_file(path);
    size_t length = text ? strlen(text) : 0;
    if (length <= from) {
        free(text);
        return copy_text("");
    }
    while (length > from && text[length - 1] == '\n') text[--length] = 0;
    const char *start = strrchr(text + from, '\n');
    char *line = copy_text(start ? start + 1 : text + from);
    free(text);
    return line;
}

static char *log_path(const Sweep *s, int c) {
    char *folder = study_folder(s->study, c, s->options->output);
    char *path = format_text("%s/log.txt", folder);
    free(folder);
    return path;
}

static void say_failed(Sweep *s, int c, int code) {
    char *log = log_path(s, c), *line = last_line(log, s->cells[c].log_start);
    char how[64];
    if (code > 128) snprintf(how, sizeof how, "killed by signal %d", code - 128);
    else snprintf(how, sizeof how, "exit code %d", code);
    board_clear(&s->board);
    fprintf(stderr, "run %d failed (%s): %s%s%s\n    log: %s\n", c + 1, how,
            s->study->cells[c].text, *line ? ": " : "", line, log);
    log_cell(s, c, "failed", *line ? line : how);
    free(log);
    free(line);
}

/* A run of somebody else. */
static void leave_alone(Sweep *s, int c, const char *owner) {
    s->cells[c].state = ELSEWHERE;
    fprintf(stderr, "run %d is being worked on by %s: %s\n", c + 1, owner,
            s->study->cells[c].text);
    log_cell(s, c, "elsewhere", owner);
}

/* ---- workers ------------------------------------------------------------------------------- */

static double number_after(const char *line, const char *key) {
    const char *at = strstr(line, key);
    return at ? strtod(at + strlen(key), NULL) : (double)NAN;
}

/* An event of a run: src/events.h. */
static void hear(void *to, int c, const char *line) {
    Sweep *s = to;
    Cell *cell = &s->cells[c];
    const double step = number_after(line, "\"step\":");
    const bool evaluates = !strncmp(line, "{\"event\":\"evaluate\"", 19);
    if (!strncmp(line, "{\"event\":\"resume\"", 17) && step > 0)
        cell->at_start = step / (double)s->study->cells[c].config.train.total_steps;
    else if (!strncmp(line, "{\"event\":\"step\"", 15))
        cell->loss = number_after(line, "\"loss\":");
    else if (!evaluates) return;
    if (step >= 0) cell->step = (int64_t)step;
    *cell->note = 0;
    if (evaluates)
        snprintf(cell->note, sizeof cell->note, "evaluated length %.0f",
                 number_after(line, "\"length\":"));
}

static void stop_workers(Sweep *s) {
    if (s->leaving) return;
    s->leaving = true;
    pool_signal(s->pool, SIGTERM);
}

static void ended(void *to, int c, int code) {
    Sweep *s = to;
    Cell *cell = &s->cells[c];
    /* One that has hardly started knows no signals yet. */
    const bool stopped = code == EXIT_AGAIN || (s->leaving && code == 128 + SIGTERM);
    cell->state = code == EXIT_DONE ? DONE : stopped ? STOPPED : FAILED;
    if (code == EXIT_BUSY) {
        char *owner = run_owner(&s->study->cells[c].config, s->options->output);
        board_clear(&s->board);
        leave_alone(s, c, owner ? owner : "another process");
        free(owner);
        return;
    }
    if (cell->state == FAILED) {
        say_failed(s, c, code);
        if (s->options->fail_fast) stop_workers(s);
        return;
    }
    log_cell(s, c, cell->state == DONE ? "done" : "stopped", NULL);
    if (s->options->quiet || s->board.terminal.rewrites || cell->state != DONE) return;
    const double now = seconds_now();
    char *text = overall_text(s, now);
    fprintf(stderr, "run %d done: %s, %.1f s; %s\n", c + 1, s->study->cells[c].text,
            now - cell->started, text);
    free(text);
    s->line_shown = now;
}

static void start(Sweep *s, int c) {
    const SweepOptions *o = s->options;
    const Config *config = &s->study->cells[c].config;
    char index[16], threads[16], *log = log_path(s, c);
    char *folder = study_folder(s->study, c, o->output);
    snprintf(index, sizeof index, "%d", c + 1);
    snprintf(threads, sizeof threads, "%d", s->threads);
    const char *words[WORDS];
    int count = 0;
    for (; count < o->word_count; count++) words[count] = o->words[count];
    const char *const more[] = {"--output",  o->output, "--index",  index,         "--threads",
                                threads,     "--json",  "--quiet",  "--expect",    config->sha256,
                                o->fresh ? "--fresh" : NULL};
    for (size_t i = 0; i < sizeof more / sizeof *more && more[i]; i++) words[count++] = more[i];
    words[count] = NULL;
    run_make_folders(folder);
    Cell *cell = &s->cells[c];
    struct stat earlier;
    cell->log_start = stat(log, &earlier) ? 0 : (size_t)earlier.st_size;
    cell->state = RUNNING;
    cell->started = seconds_now();
    const int error = pool_start(s->pool, c, words, log);
    if (error) {
        cell->state = FAILED;
        board_clear(&s->board);
        fprintf(stderr, "run %d failed: %s: it cannot be started: %s\n", c + 1,
                s->study->cells[c].text, strerror(error));
        if (o->fail_fast) stop_workers(s);
    }
    free(folder);
    free(log);
}

/* ---- the whole ----------------------------------------------------------------------------- */

/* A study whose every chosen cell has its state: complete runs are skipped. */
static void look_around(Sweep *s) {
    const SweepOptions *o = s->options;
    for (int c = 0; c < s->study->cell_count; c++) {
        const StudyCell *cell = &s->study->cells[c];
        Cell *own = &s->cells[c];
        *own = (Cell){.loss = (double)NAN};
        if (!chosen(o, c)) continue;
        if (cell->undefined) {
            own->state = UNDEFINED;
            if (!o->quiet)
                fprintf(stderr, "run %d is not defined: %s: %s\n", c + 1, cell->text,
                        cell->undefined);
            log_cell(s, c, "not defined", cell->undefined);
        } else if (!o->fresh && run_status(&cell->config, o->output) == RUN_COMPLETE) {
            own->state = DONE;
        } else {
            char *owner = run_owner(&cell->config, o->output);
            own->flops = train_flops(&cell->config);
            if (owner) leave_alone(s, c, owner);
            free(owner);
        }
    }
}

/* How many side by side, on how many threads: as the user says, or so that every core has one
   thread; fewer where memory does not suffice. */
static void share_out(Sweep *s) {
    const SweepOptions *o = s->options;
    const int cores = environment_cores(), waiting = count_state(s, WAITING);
    s->jobs = o->jobs ? o->jobs : o->threads ? cores / o->threads : cores;
    if (s->jobs < 1) s->jobs = 1;
    if (s->jobs > waiting) s->jobs = waiting ? waiting : 1;
    s->threads = o->threads ? o->threads : s->jobs < cores ? cores / s->jobs : 1;
    if (o->jobs) return;
    double bytes = 0;
    for (int c = 0; c < s->study->cell_count; c++)
        if (chosen(o, c) && s->cells[c].state == WAITING)
            bytes = fmax(bytes, run_bytes(&s->study->cells[c].config, s->threads));
    const int fit = (int)fmin(s->jobs, fmax(1, floor(0.9 * environment_memory() / bytes)));
    if (fit >= s->jobs) return;
    warn("%d runs side by side and not %d: each may need %.1f GiB of memory", fit, s->jobs,
         bytes / (1 << 30));
    s->jobs = fit;
    if (!o->threads) s->threads = cores / fit;
}

static void work(Sweep *s) {
    int next = 0;
    while (true) {
        if (stop_requested() && !s->leaving) {
            s->stopped = true;
            stop_workers(s);
        }
        for (; !s->leaving && next < s->study->cell_count && pool_running(s->pool) < s->jobs;
             next++)
            if (chosen(s->options, next) && s->cells[next].state == WAITING) start(s, next);
        if (!pool_running(s->pool)) return;
        show(s, seconds_now());
        pool_wait(s->pool, 200);
    }
}

/* What others worked on may be complete by now. */
static void look_again(Sweep *s) {
    for (int c = 0; c < s->study->cell_count; c++) {
        if (!chosen(s->options, c) || s->cells[c].state != ELSEWHERE) continue;
        if (run_status(&s->study->cells[c].config, s->options->output) != RUN_COMPLETE) continue;
        s->cells[c].state = DONE;
        log_cell(s, c, "done", NULL);
    }
}

/* Of a part: what ends the study. Names, rates and claims are in its file alone. */
static void say_whole(const Sweep *s) {
    char *words = shell_words(s->options->word_count, s->options->words);
    char *output = shell_word(s->options->output);
    fprintf(stderr, "when all parts are done, this prints the results:\n");
    fprintf(stderr, "    ./harness %s%s%s\n", words,
            strcmp(s->options->output, "results") ? " --output " : "",
            strcmp(s->options->output, "results") ? output : "");
    free(words);
    free(output);
}

static int finish(const Sweep *s) {
    const int failed = count_state(s, FAILED), elsewhere = count_state(s, ELSEWHERE);
    const int stopped = count_state(s, STOPPED), waiting = count_state(s, WAITING);
    if (s->stopped || (stopped && !failed)) {
        char *text = overall_text(s, seconds_now());
        fprintf(stderr, "stopped: %s; this goes on:\n    %s\n", text, s->options->command);
        free(text);
        return EXIT_AGAIN;
    }
    int code = failed || elsewhere || waiting ? EXIT_FAILED : EXIT_DONE;
    if (s->options->shards) say_whole(s);
    else if (!s->options->quiet && !s->options->json) {
        const int printed = sweep_report(s->study, s->options->output, s->options->color);
        if (printed && !code) code = printed;
    }
    if (failed || stopped || waiting)
        fprintf(stderr, "%d runs failed, %d were not run; this tries them again:\n    %s\n",
                failed, stopped + waiting, s->options->command);
    return code;
}

int sweep_run(Study *study, const SweepOptions *options) {
    Sweep s = {.study = study,
               .options = options,
               .cells = ALLOCATE((size_t)study->cell_count, Cell),
               .started = seconds_now(),
               .board = {.to = stderr,
                         .terminal = terminal_look(STDERR_FILENO, options->color)}};
    s.line_shown = s.started;
    look_around(&s);
    keep_definition(study, options->output);
    share_out(&s);
    if (!options->quiet)
        fprintf(stderr, "%s: %d runs, %d complete, %d to do, %d side by side on %d thread%s each\n",
                study->name, study->cell_count, count_state(&s, DONE), count_state(&s, WAITING),
                s.jobs, s.threads, s.threads > 1 ? "s" : "");
    const PoolEvents events = {&s, hear, ended};
    s.pool = pool_create(s.jobs, &events);
    work(&s);
    board_clear(&s.board);
    look_again(&s);
    const int code = finish(&s);
    pool_free(s.pool);
    free(s.cells);
    return code;
}

/* One run, top to bottom:

       folder and lock → is it complete? → trainer and record → newest checkpoint that verifies
       → steps, each followed by what is due: log line, snapshot, evaluation + run.h5, checkpoint
       → final evaluation, run.h5, table

   A stop (signal) is looked at between steps: checkpoint, exit 75. */
#include "src/run.h"

#include "src/bench.h"
#include "src/events.h"
#include "src/lock.h"
#include "src/record.h"
#include "src/report/lengths.h"
#include "src/report/progress.h"
#include "src/start.h"
#include "src/stop.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CHECKPOINTS = 2 }; /* generations that are kept */

typedef struct {
    const Config *config;
    const RunOptions *options;
    Environment environment;
    Terminal results; /* stdout */
    char *folder, *result_path, *events_path, *lock_path;
    Lock lock;
    Trainer *trainer;
    Record *record;
    Events events;
    Progress progress;
    Evaluation *evaluations; /* [lengths] */
} Run;

_Noreturn static void output_failed(const char *path, int error) {
    die(EXIT_OUTPUT, "%s: %s", path, strerror(error));
}

/* ---- folder -------------------------------------------------------------------------------- */

void run_make_folders(const char *path) {
    char *partial = copy_text(path);
    for (char *at = partial + 1;; at++) {
        if (*at && *at != '/') continue;
        const char kept = *at;
        *at = 0;
        const bool made = !mkdir(partial, 0777);
        if (!made && errno != EEXIST) output_failed(partial, errno);
        const int error = made ? store_sync_folder(partial) : 0;
        if (error) output_failed(partial, error);
        *at = kept;
        if (!kept) break;
    }
    free(partial);
}

static char *checkpoint_path(const Run *run, int64_t step) {
    return format_text("%s/checkpoint-%lld.h5", run->folder, (long long)step);
}

static int newest_first(const void *a, const void *b) {
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? 1 : x > y ? -1 : 0;
}

/* Steps of the checkpoints in the folder, newest first; the caller frees. */
static size_t checkpoints(const Run *run, int64_t **steps) {
    size_t count = 0, room = 16;
    *steps = ALLOCATE(room, int64_t);
    DIR *folder = opendir(run->folder);
    if (!folder) output_failed(run->folder, errno);
    const struct dirent *entry;
    while ((entry = readdir(folder))) {
        long long step;
        int end = 0;
        if (sscanf(entry->d_name, "checkpoint-%lld.h5%n", &step, &end) != 1 || !end ||
            entry->d_name[end])
            continue;
        if (count == room) {
            int64_t *more = ALLOCATE(room *= 2, int64_t);
            memcpy(more, *steps, count * sizeof *more);
            free(*steps);
            *steps = more;
        }
        (*steps)[count++] = step;
    }
    closedir(folder);
    qsort(*steps, count, sizeof **steps, newest_first);
    return count;
}

/* Removes all but the newest `keep` checkpoints. */
static void prune_checkpoints(const Run *run, size_t keep) {
    int64_t *steps;
    const size_t count = checkpoints(run, &steps);
    for (size_t i = keep; i < count; i++) {
        char *path = checkpoint_path(run, steps[i]);
        unlink(path);
        free(path);
    }
    free(steps);
}

/* What a run that was killed was about to publish; whoever holds the lock may remove it. */
static void remove_temporaries(const Run *run) {
    DIR *folder = opendir(run->folder);
    if (!folder) output_failed(run->folder, errno);
    const struct dirent *entry;
    while ((entry = readdir(folder))) {
        const size_t length = strlen(entry->d_name);
        if (length > 7 && !strcmp(entry->d_name + length - 7, ".h5.tmp"))
            unlinkat(dirfd(folder), entry->d_name, 0);
    }
    closedir(folder);
}

/* ---- checkpoints ----------------------------------------------------------------------------- */

static void write_checkpoint(Run *run) {
    const int synced = events_sync(&run->events);
    if (synced) output_failed(run->events_path, synced);
    RecordState state;
    record_state(&state, run->record, run->trainer, false);
    Checkpoint *c = &state.checkpoint;
    c->log_bytes = run->events.length;
    snprintf(c->config_sha256, sizeof c->config_sha256, "%s", run->config->sha256);
    snprintf(c->binary_sha256, sizeof c->binary_sha256, "%s", run->environment.binary_sha256);
    snprintf(c->cpu, sizeof c->cpu, "%s", run->environment.cpu);
    snprintf(c->isa, sizeof c->isa, "%s", run->environment.isa);
    char *path = checkpoint_path(run, c->step);
    const int error = checkpoint_write(c, path);
    if (error) output_failed(path, error);
    free(path);
    record_state_free(&state);
    prune_checkpoints(run, CHECKPOINTS);
}

/* Reads the newest checkpoint that verifies. Returns the bytes of the log that it covers, -1 when
   there is none at all; where there are some and none can be used, the program ends, and they stay.
   A checkpoint that is refused may have left half its data behind: the trainer is made anew before
   the next is tried. */
static int64_t read_checkpoint(Run *run) {
    int64_t *steps, log_bytes = -1;
    const size_t count = checkpoints(run, &steps);
    for (size_t i = 0; i < count && log_bytes < 0; i++) {
        char *path = checkpoint_path(run, steps[i]);
        RecordState state;
        record_state(&state, run->record, run->trainer, true);
        Checkpoint *c = &state.checkpoint;
        snprintf(c->config_sha256, sizeof c->config_sha256, "%s", run->config->sha256);
        const char *reason = checkpoint_read(path, c);
        if (!reason) {
            record_restore(&state, run->record, run->trainer);
            log_bytes = c->log_bytes;
            const bool other_build = strcmp(c->binary_sha256, run->environment.binary_sha256),
                       other_cpu = strcmp(c->cpu, run->environment.cpu);
            if (other_build || other_cpu) {
                run->record->moves++;
                warn("%s was written %s%s%s: the run goes on, but its last bits may differ from "
                     "one that was not stopped",
                     path, other_build ? "by another build" : "",
                     other_build && other_cpu ? " and " : "", other_cpu ? "on another CPU" : "");
            }
        } else {
            warn("%s is not used: %s", path, reason);
            train_free(run->trainer);
            record_free(run->record);
            run->trainer = train_create(run->config);
            run->record = record_create(run->config, run->trainer->model);
        }
        record_state_free(&state);
        free(path);
    }
    free(steps);
    if (count && log_bytes < 0)
        die(EXIT_FAILED, "%s: none of its checkpoints can be used; --fresh starts again",
            run->folder);
    return log_bytes;
}

/* ---- events and results ---------------------------------------------------------------------- */

static void check_event(const Run *run, int error) {
    if (error) output_failed(run->events_path, error);
}

static void log_start(Run *run, bool resumed) {
    Json *json = events_begin(&run->events, resumed ? "resume" : "start");
    json_key(json, "run_id"), json_text(json, run->config->id);
    json_key(json, "step"), json_integer(json, run->trainer->step);
    json_key(json, "threads"), json_integer(json, run->environment.threads);
    check_event(run, events_end(&run->events));
}

static void log_stage(Run *run, int stage) {
    const Stage *s = &run->config->train.stages[stage];
    Json *json = events_begin(&run->events, "stage");
    json_key(json, "stage"), json_integer(json, stage + 1);
    json_key(json, "step"), json_integer(json, run->trainer->step + 1);
    json_key(json, "steps"), json_integer(json, s->steps);
    json_key(json, "length"), json_integer(json, s->length.list.values[0]);
    check_event(run, events_end(&run->events));
}

static void log_step(Run *run) {
    Trainer *t = run->trainer;
    const TrainWindow *w = &t->window;
    const EventStep row = {.step = t->step,
                           .loss = w->loss / w->scored,
                           .accuracy = w->right / w->scored,
                           .learning_rate = t->learning_rate,
                           .gradient_norm = t->gradient_norm,
                           .tokens = t->tokens,
                           .tokens_per_second = w->tokens / w->seconds,
                           .seconds = t->seconds};
    check_event(run, events_step(&run->events, &row));
    record_train(run->record, &row);
    t->window = (TrainWindow){0};
}

static void log_evaluation(Run *run) {
    for (size_t l = 0; l < run->record->lengths; l++) {
        const Evaluation *e = &run->evaluations[l];
        Json *json = events_begin(&run->events, "evaluate");
        json_key(json, "step"), json_integer(json, run->trainer->step);
        json_key(json, "length"), json_integer(json, (int64_t)e->length);
        if (*e->undefined) {
            json_key(json, "undefined"), json_text(json, e->undefined);
        } else {
            json_key(json, "loss"), json_number(json, e->loss);
            json_key(json, "token_accuracy"), json_number(json, e->token_accuracy);
            json_key(json, "sequence_accuracy"), json_number(json, e->sequence_accuracy);
            json_key(json, "examples"), json_integer(json, e->examples);
        }
        check_event(run, events_end(&run->events));
    }
}

static void write_result(Run *run, bool completed, const char *exit_reason) {
    ScoreDecay decay = {0};
    if (completed) decay = decay_measure(run->config, run->trainer->model, run->trainer->engine);
    const int error = record_write(run->record, run->trainer, &run->environment, &decay, completed,
                                   exit_reason, run->result_path);
    decay_free(&decay);
    if (error) output_failed(run->result_path, error);
}

/* The run cannot go on; its newest checkpoint stays. */
_Noreturn static void run_failed(Run *run, const char *reason) {
    progress_note(&run->progress, seconds_now(), NULL);
    Json *json = events_begin(&run->events, "failed");
    json_key(json, "step"), json_integer(json, run->trainer->step);
    json_key(json, "reason"), json_text(json, reason);
    check_event(run, events_end(&run->events));
    die(EXIT_FAILED, "%s", reason);
}

static void evaluate_all(Run *run) {
    for (size_t l = 0; l < run->record->lengths; l++) {
        char note[64];
        const size_t length = (size_t)run->config->evaluate.lengths.values[l];
        snprintf(note, sizeof note, "evaluating length %zu", length);
        progress_note(&run->progress, seconds_now(), note);
        const char *failed = evaluate(run->config, run->trainer->model, run->trainer->engine,
                                      length, &run->evaluations[l]);
        if (failed) run_failed(run, format_text("evaluation at length %zu, %s", length, failed));
    }
    record_evaluation(run->record, run->trainer->step, run->evaluations);
    log_evaluation(run);
}

/* In distribution, on examples of its own: what a choice between settings may look at. */
static void validate(Run *run) {
    Evaluation *e = ALLOCATE(1, Evaluation);
    progress_note(&run->progress, seconds_now(), "validating");
    const char *failed =
        evaluate_validation(run->config, run->trainer->model, run->trainer->engine, e);
    if (failed) run_failed(run, format_text("validation, %s", failed));
    record_validation(run->record, e);
    free(e);
}

/* ---- training -------------------------------------------------------------------------------- */

static ProgressState progress_state(const Run *run) {
    const Trainer *t = run->trainer;
    const int64_t step = t->step ? t->step : 1;
    return (ProgressState){.step = t->step,
                           .stage = config_stage(run->config, step, NULL) + 1,
                           .loss = t->loss,
                           .accuracy = t->accuracy,
                           .tokens = (double)t->tokens,
                           .flops = t->flops};
}

static void start_progress(Run *run) {
    Progress *p = &run->progress;
    p->to = stderr;
    p->terminal = terminal_look(STDERR_FILENO, run->options->color);
    p->quiet = run->options->quiet;
    p->stages = run->config->train.stage_count;
    p->steps = run->config->train.total_steps;
    p->flops = train_flops(run->config);
    p->peak = p->quiet || !p->terminal.rewrites ? 0 : bench_peak(0.02) * 1e9;
    if (!run->trainer->step) run->trainer->loss = run->trainer->accuracy = (double)NAN;
    const ProgressState state = progress_state(run);
    progress_start(p, seconds_now(), &state);
}

static bool due(int64_t step, int64_t every) { return every && step % every == 0; }

/* Leaves with EXIT_AGAIN when a signal asked for it. */
static void leave_when_asked(Run *run) {
    if (!stop_requested()) return;
    progress_note(&run->progress, seconds_now(), "writing a checkpoint");
    write_checkpoint(run);
    progress_end(&run->progress, seconds_now());
    fprintf(stderr, "stopped after step %lld of %lld; this goes on:\n    %s\n",
            (long long)run->trainer->step, (long long)run->config->train.total_steps,
            run->options->command);
    leave(EXIT_AGAIN);
}

static void train(Run *run) {
    const Config *config = run->config;
    Trainer *t = run->trainer;
    while (t->step < config->train.total_steps) {
        leave_when_asked(run);
        int64_t first;
        const int stage = config_stage(config, t->step + 1, &first);
        if (first == t->step + 1) log_stage(run, stage);

        const char *broken = train_step(t);
        if (broken) run_failed(run, broken);
        const ProgressState state = progress_state(run);
        progress_step(&run->progress, seconds_now(), &state);

        const bool last = t->step == config->train.total_steps;
        if (due(t->step, config->train.log_every) || last) log_step(run);
        if (due(t->step, config->train.snapshot_every))
            record_snapshot(run->record, t->model, t->step);
        if (due(t->step, config->evaluate.every) && !last) {
            evaluate_all(run);
            write_result(run, false, "running");
            progress_resume(&run->progress, seconds_now());
        }
        if (due(t->step, config->train.checkpoint_every) && !last) {
            progress_note(&run->progress, seconds_now(), "writing a checkpoint");
            write_checkpoint(run);
            progress_resume(&run->progress, seconds_now());
        }
    }
}

/* ---- the table at the end -------------------------------------------------------------------- */

static void print_table(const Run *run, const Evaluation *evaluations, size_t count,
                        int64_t trained) {
    if (run->options->json || run->options->quiet) return;
    LengthRow *rows = ALLOCATE(count, LengthRow);
    for (size_t l = 0; l < count; l++) {
        const Evaluation *e = &evaluations[l];
        rows[l] = (LengthRow){.length = (int64_t)e->length,
                              .undefined = *e->undefined ? e->undefined : NULL,
                              .token_accuracy = e->token_accuracy,
                              .interval = e->interval,
                              .sequence_accuracy = e->sequence_accuracy,
                              .loss = e->loss,
                              .random = e->random,
                              .majority = e->majority};
    }
    lengths_print(count, rows, trained, stdout, &run->results);
    free(rows);
}

/* Is there a result of this config that says completed? A file at its place that is no result of
   it, or cannot be read now, has a reason, and is not written over. */
static bool is_complete(const char *path, const char *sha256, const char **reason) {
    *reason = NULL;
    if (access(path, F_OK) && (errno == ENOENT || errno == ENOTDIR)) return false;
    *reason = store_verify(path);
    StoreReader *reader = *reason ? NULL : store_open(path, reason);
    if (!reader) return false;
    bool completed = false;
    store_read_attribute_boolean(reader, "/", "completed", &completed);
    char *own = store_read_attribute_text(reader, "/", "config_sha256");
    if (!own || strcmp(own, sha256)) *reason = "is the result of another config";
    free(own);
    store_close(reader);
    return completed && !*reason;
}

RunStatus run_status(const Config *config, const char *output) {
    char *folder = format_text("%s/%s/%s", output, config->name, config->id);
    char *result = format_text("%s/run.h5", folder);
    char *events = format_text("%s/events.jsonl", folder);
    const char *reason;
    const RunStatus status = is_complete(result, config->sha256, &reason) ? RUN_COMPLETE
                             : access(events, F_OK) && !reason            ? RUN_NEW
                                                                          : RUN_STARTED;
    free(folder);
    free(result);
    free(events);
    return status;
}

char *run_owner(const Config *config, const char *output) {
    char *path = format_text("%s/%s/%s/run.lock", output, config->name, config->id), *owner = NULL;
    Lock lock;
    if (lock_look(&lock, path)) owner = format_text("process %ld on %s", lock.pid, lock.host);
    free(path);
    return owner;
}

double run_bytes(const Config *config, int threads) {
    const double training = train_bytes(config, threads);
    return training > environment_memory() ? training : training + record_bytes(config).memory;
}

/* A run that was killed at its very end has left checkpoints. */
static void tidy_complete(Run *run) {
    if (!lock_take(&run->lock, run->lock_path)) return;
    prune_checkpoints(run, 0);
    remove_temporaries(run);
    lock_release(&run->lock);
}

static void free_paths(Run *run) {
    free(run->folder);
    free(run->result_path);
    free(run->events_path);
    free(run->lock_path);
}

int run(const Config *config, const RunOptions *options) {
    Run run = {.config = config, .options = options, .environment = environment_look()};
    run.results = terminal_look(STDOUT_FILENO, options->color);
    run.folder = format_text("%s/%s/%s", options->output, config->name, config->id);
    run.result_path = format_text("%s/run.h5", run.folder);
    run.events_path = format_text("%s/events.jsonl", run.folder);
    run.lock_path = format_text("%s/run.lock", run.folder);

    const char *reason = NULL;
    if (!options->fresh && is_complete(run.result_path, config->sha256, &reason)) {
        fprintf(stderr, "%s is complete; --fresh runs it again, ./harness show prints it\n",
                run.result_path);
        tidy_complete(&run);
        free_paths(&run);
        return EXIT_DONE;
    }
    if (reason)
        die(EXIT_FAILED, "%s: %s; it is left as it is, --fresh replaces it", run.result_path,
            reason);
    start_check(config);
    char needed[32], there[32];
    const double bytes = run_bytes(config, run.environment.threads);
    if (bytes > environment_memory())
        die(EXIT_USAGE, "%s: needs %s (%.0f bytes) of memory, this machine has %s", config->path,
            bytes_text(bytes, needed), bytes, bytes_text(environment_memory(), there));
    run_make_folders(run.folder);
    if (!lock_take(&run.lock, run.lock_path)) {
        if (run.lock.error != EWOULDBLOCK) output_failed(run.lock_path, run.lock.error);
        if (options->worker) leave(EXIT_BUSY); /* its log is that of the process at work */
        die(EXIT_FAILED, "%s is being worked on by process %ld on %s", run.folder, run.lock.pid,
            run.lock.host);
    }
    if (options->fresh) prune_checkpoints(&run, 0);
    remove_temporaries(&run);

    run.trainer = train_create(config);
    run.record = record_create(config, run.trainer->model);
    run.evaluations = ALLOCATE(run.record->lengths, Evaluation);
    const int64_t log_bytes = read_checkpoint(&run);
    const bool resumed = log_bytes >= 0;
    if (!resumed) {
        reason = start_read(config, run.trainer->model);
        if (reason) die(EXIT_FAILED, "%s: %s", config->train.init_from, reason);
    }
    check_event(&run, events_open(&run.events, run.events_path, resumed ? log_bytes : 0,
                                  options->json));
    if (resumed && run.events.length < log_bytes)
        warn("%s lacks lines that the checkpoint counted on", run.events_path);
    if (!options->quiet)
        fprintf(stderr, "%s: %s on %s, %zu parameters, %d threads%s\n", run.folder,
                config->model.encoding->name, config->task->name,
                model_parameter_total(run.trainer->model), run.environment.threads,
                !strcmp(run.environment.openmp, "off") ? " (OpenMP: off)" : "");
    if (resumed)
        fprintf(stderr, "going on after step %lld of %lld\n", (long long)run.trainer->step,
                (long long)config->train.total_steps);
    log_start(&run, resumed);

    start_progress(&run);
    train(&run);
    evaluate_all(&run);
    validate(&run);
    progress_end(&run.progress, seconds_now());
    write_result(&run, true, "done");
    Json *json = events_begin(&run.events, "done");
    json_key(json, "step"), json_integer(json, run.trainer->step);
    json_key(json, "seconds"), json_number(json, run.trainer->seconds);
    check_event(&run, events_end(&run.events));
    check_event(&run, events_close(&run.events));
    prune_checkpoints(&run, 0);

    print_table(&run, run.evaluations, run.record->lengths, (int64_t)config_longest(config));
    if (!options->json && !options->quiet) printf("\n%s\n", run.result_path);
    record_free(run.record);
    train_free(run.trainer);
    free(run.evaluations);
    lock_release(&run.lock);
    free_paths(&run);
    return EXIT_DONE;
}

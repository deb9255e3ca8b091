#include "src/record.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- tables of position -------------------------------------------------------------------- */

static size_t table_count(const PositionTable *table) {
    size_t count = 1;
    for (int axis = 0; axis < table->rank; axis++) count *= table->dims[axis];
    return count;
}

typedef struct {
    Record *record;
    const Model *model;
    size_t next;
    enum { TABLES_ADD, TABLES_UPDATE, TABLES_SNAPSHOT } action;
} TableVisit;

static void add_table(Record *record, const Model *model, const PositionTable *from) {
    RecordTable *tables = ALLOCATE(record->table_count + 1, RecordTable);
    if (record->table_count)
        memcpy(tables, record->tables, record->table_count * sizeof *tables);
    free(record->tables);
    record->tables = tables;
    RecordTable *to = &tables[record->table_count++];
    const size_t count = table_count(from);
    *to = (RecordTable){.table = *from, .parameter = -1};
    to->table.values = ALLOCATE(count, double);
    to->table.name = copy_text(from->name);
    to->table.convention = copy_text(from->convention);
    for (int i = 0; from->counted >= 0 && i < model->parameter_count; i++)
        if (model->parameters[i].encoding_index == from->counted) {
            to->parameter = i;
            break;
        }
    if (!strcmp(from->kind, "learned") && record->snapshot_room)
        to->snapshots = ALLOCATE(record->snapshot_room * count, double);
}

static void visit_table(void *to, const PositionTable *from) {
    TableVisit *visit = to;
    Record *record = visit->record;
    if (visit->action == TABLES_ADD) add_table(record, visit->model, from);
    RecordTable *own = &record->tables[visit->next++];
    const size_t count = table_count(from);
    CHECK(count == table_count(&own->table), "table %s changed its shape", from->name);
    double *values = visit->action == TABLES_SNAPSHOT
                         ? own->snapshots ? own->snapshots + record->snapshot_rows * count : NULL
                         : (double *)(uintptr_t)own->table.values;
    if (values) memcpy(values, from->values, count * sizeof(double));
}

static void visit_tables(Record *record, const Model *model, int action) {
    TableVisit visit = {.record = record, .model = model};
    visit.action = (unsigned)action;
    model_tables(model, config_longest(record->config), visit_table, &visit);
}

/* ---- rows ------------------------------------------------------------------------------------ */

static double *column(size_t rows) { return ALLOCATE(rows, double); }

static void set_rooms(Record *r, const Config *config) {
    const int64_t steps = config->train.total_steps;
    r->config = config;
    r->lengths = (size_t)config->evaluate.lengths.count;
    r->train_room = (size_t)(steps / config->train.log_every + 2);
    r->evaluate_room = (size_t)(config->evaluate.every ? steps / config->evaluate.every + 2 : 2);
    r->snapshot_room = config->train.snapshot_every
                           ? (size_t)(steps / config->train.snapshot_every + 2)
                           : 0;
}

/* Adds the numbers of a learned table. */
static void count_table(void *numbers, const PositionTable *table) {
    if (!strcmp(table->kind, "learned")) *(double *)numbers += (double)table_count(table);
}

RecordBytes record_bytes(const Config *config) {
    enum { NUMBER = 8, TRAIN_COLUMNS = 8, CELL_COLUMNS = 6 }; /* those of record_create */
    Record r = {0};
    set_rooms(&r, config);
    const ModelShape shape = train_shape(config);
    Model *model = r.snapshot_room ? model_create(&shape, 0) : model_describe(&shape);
    double snapshot = 1; /* its step */
    if (r.snapshot_room) model_tables(model, config_longest(config), count_table, &snapshot);
    const double rows = NUMBER * (TRAIN_COLUMNS * (double)r.train_room +
                                  (1 + CELL_COLUMNS * (double)r.lengths) * (double)r.evaluate_room +
                                  snapshot * (double)r.snapshot_room);
    const double file = rows + 3.0 * (double)model->count * sizeof(real);
    model_free(model);
    return (RecordBytes){.memory = rows + 2 * file, .file = file};
}

Record *record_create(const Config *config, const Model *model) {
    Record *r = ALLOCATE(1, Record);
    set_rooms(r, config);
    r->step = ALLOCATE(r->train_room, int64_t);
    r->tokens = ALLOCATE(r->train_room, int64_t);
    r->loss = column(r->train_room);
    r->accuracy = column(r->train_room);
    r->learning_rate = column(r->train_room);
    r->gradient_norm = column(r->train_room);
    r->tokens_per_second = column(r->train_room);
    r->seconds = column(r->train_room);
    const size_t cells = r->evaluate_room * r->lengths;
    r->evaluate_step = ALLOCATE(r->evaluate_room, int64_t);
    r->examples = ALLOCATE(cells, int64_t);
    r->evaluate_loss = column(cells);
    r->token_accuracy = column(cells);
    r->sequence_accuracy = column(cells);
    r->low = column(cells);
    r->high = column(cells);
    r->last = ALLOCATE(r->lengths, Evaluation);
    r->snapshot_step = ALLOCATE(r->snapshot_room, int64_t);
    visit_tables(r, model, TABLES_ADD);
    return r;
}

void record_free(Record *r) {
    if (!r) return;
    void *columns[] = {r->step, r->tokens, r->loss, r->accuracy, r->learning_rate,
                       r->gradient_norm, r->tokens_per_second, r->seconds, r->evaluate_step,
                       r->examples, r->evaluate_loss, r->token_accuracy, r->sequence_accuracy,
                       r->low, r->high, r->last, r->snapshot_step};
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) free(columns[i]);
    for (size_t i = 0; i < r->table_count; i++) {
        free((void *)(uintptr_t)r->tables[i].table.values);
        free((void *)(uintptr_t)r->tables[i].table.name);
        free((void *)(uintptr_t)r->tables[i].table.convention);
        free(r->tables[i].snapshots);
    }
    free(r->tables);
    free(r);
}

void record_train(Record *r, const EventStep *row) {
    CHECK(r->train_rows < r->train_room, "more logged steps than the config has");
    const size_t i = r->train_rows++;
    r->step[i] = row->step;
    r->tokens[i] = row->tokens;
    r->loss[i] = row->loss;
    r->accuracy[i] = row->accuracy;
    r->learning_rate[i] = row->learning_rate;
    r->gradient_norm[i] = row->gradient_norm;
    r->tokens_per_second[i] = row->tokens_per_second;
    r->seconds[i] = row->seconds;
}

void record_evaluation(Record *r, int64_t step, const Evaluation *evaluations) {
    CHECK(r->evaluate_rows < r->evaluate_room, "more evaluations than the config has");
    const size_t row = r->evaluate_rows++;
    r->evaluate_step[row] = step;
    for (size_t l = 0; l < r->lengths; l++) {
        const Evaluation *e = &evaluations[l];
        const size_t cell = row * r->lengths + l;
        r->examples[cell] = e->examples;
        r->evaluate_loss[cell] = e->loss;
        r->token_accuracy[cell] = e->token_accuracy;
        r->sequence_accuracy[cell] = e->sequence_accuracy;
        r->low[cell] = e->interval.low;
        r->high[cell] = e->interval.high;
    }
    memcpy(r->last, evaluations, r->lengths * sizeof *evaluations);
}

void record_validation(Record *r, const Evaluation *e) {
    r->validation = (ResultValidate){(int64_t)e->length, e->examples, e->loss, e->token_accuracy,
                                     e->sequence_accuracy};
}

void record_snapshot(Record *r, const Model *model, int64_t step) {
    CHECK(r->snapshot_rows < r->snapshot_room, "more snapshots than the config has");
    visit_tables(r, model, TABLES_SNAPSHOT);
    r->snapshot_step[r->snapshot_rows++] = step;
}

/* ---- checkpoint ------------------------------------------------------------------------------ */

#ifdef REAL_DOUBLE
static const StoreType REAL_TYPE = STORE_FLOAT64;
#else
static const StoreType REAL_TYPE = STORE_FLOAT32;
#endif

enum { FIXED_ARRAYS = 20 };

static CheckpointArray *next(Checkpoint *checkpoint, StoreType type, void *data, int rank,
                             const char *name) {
    CheckpointArray *array = &checkpoint->arrays[checkpoint->count++];
    *array = (CheckpointArray){.name = copy_text(name), .type = type, .rank = rank, .data = data};
    return array;
}

static void rows(Checkpoint *checkpoint, StoreType type, void *data, size_t count, size_t width,
                 const char *name) {
    CheckpointArray *array = next(checkpoint, type, data, width ? 2 : 1, name);
    array->dims[0] = count;
    array->dims[1] = width;
    array->grows = true;
}

void record_state(RecordState *state, Record *r, Trainer *t, bool reading) {
    const Model *model = t->model;
    *state = (RecordState){.counters = {t->tokens},
                           .sums = {t->seconds, t->flops, t->window.loss, t->window.scored,
                                    t->window.right, t->window.tokens, t->window.seconds}};
    Checkpoint *c = &state->checkpoint;
    c->step = t->step;
    c->moves = r->moves;
    c->arrays = ALLOCATE(FIXED_ARRAYS + 4 * (size_t)model->parameter_count + r->table_count,
                         CheckpointArray);
    static const char *const groups[] = {"parameters", "moment1", "moment2"};
    for (int group = 0; group < 3; group++)
        for (int i = 0; i < model->parameter_count; i++) {
            const Parameter *p = &model->parameters[i];
            real *base = group == 0 ? model->values : group == 1 ? t->moment1 : t->moment2;
            char name[96];
            snprintf(name, sizeof name, "%s/%s", groups[group], p->name);
            CheckpointArray *array = next(c, REAL_TYPE, base + p->offset, p->rank, name);
            memcpy(array->dims, p->dims, (size_t)p->rank * sizeof *p->dims);
        }
    for (int i = 0; i < model->parameter_count; i++) {
        if (!t->update_count[i]) continue;
        char name[96];
        snprintf(name, sizeof name, "update_count/%s", model->parameters[i].name);
        next(c, STORE_INT64, t->update_count[i], 1, name)->dims[0] = model->parameters[i].dims[0];
    }
    next(c, STORE_INT64, state->counters, 1, "state/tokens")->dims[0] = 1;
    next(c, STORE_FLOAT64, state->sums, 1, "state/sums")->dims[0] = 7;

    const size_t train = reading ? r->train_room : r->train_rows;
    rows(c, STORE_INT64, r->step, train, 0, "train/step");
    rows(c, STORE_INT64, r->tokens, train, 0, "train/tokens");
    rows(c, STORE_FLOAT64, r->loss, train, 0, "train/loss");
    rows(c, STORE_FLOAT64, r->accuracy, train, 0, "train/accuracy");
    rows(c, STORE_FLOAT64, r->learning_rate, train, 0, "train/learning_rate");
    rows(c, STORE_FLOAT64, r->gradient_norm, train, 0, "train/gradient_norm");
    rows(c, STORE_FLOAT64, r->tokens_per_second, train, 0, "train/tokens_per_second");
    rows(c, STORE_FLOAT64, r->seconds, train, 0, "train/seconds");
    const size_t evaluations = reading ? r->evaluate_room : r->evaluate_rows;
    rows(c, STORE_INT64, r->evaluate_step, evaluations, 0, "evaluate/step");
    rows(c, STORE_INT64, r->examples, evaluations, r->lengths, "evaluate/examples");
    rows(c, STORE_FLOAT64, r->evaluate_loss, evaluations, r->lengths, "evaluate/loss");
    rows(c, STORE_FLOAT64, r->token_accuracy, evaluations, r->lengths, "evaluate/token_accuracy");
    rows(c, STORE_FLOAT64, r->sequence_accuracy, evaluations, r->lengths,
         "evaluate/sequence_accuracy");
    rows(c, STORE_FLOAT64, r->low, evaluations, r->lengths, "evaluate/token_accuracy_low");
    rows(c, STORE_FLOAT64, r->high, evaluations, r->lengths, "evaluate/token_accuracy_high");
    if (!r->snapshot_room) return;
    const size_t snapshots = reading ? r->snapshot_room : r->snapshot_rows;
    rows(c, STORE_INT64, r->snapshot_step, snapshots, 0, "snapshot/step");
    for (size_t i = 0; i < r->table_count; i++) {
        if (!r->tables[i].snapshots) continue;
        char name[96];
        snprintf(name, sizeof name, "snapshot/table/%s", r->tables[i].table.name);
        rows(c, STORE_FLOAT64, r->tables[i].snapshots, snapshots,
             table_count(&r->tables[i].table), name);
    }
}

void record_restore(const RecordState *state, Record *r, Trainer *t) {
    const Checkpoint *c = &state->checkpoint;
    t->step = c->step;
    r->moves = c->moves;
    t->tokens = state->counters[0];
    t->seconds = state->sums[0];
    t->flops = state->sums[1];
    t->window = (TrainWindow){state->sums[2], state->sums[3], state->sums[4], state->sums[5],
                              state->sums[6]};
    for (size_t i = 0; i < c->count; i++) {
        const CheckpointArray *array = &c->arrays[i];
        if (!strcmp(array->name, "train/step")) r->train_rows = array->dims[0];
        if (!strcmp(array->name, "evaluate/step")) r->evaluate_rows = array->dims[0];
        if (!strcmp(array->name, "snapshot/step")) r->snapshot_rows = array->dims[0];
    }
}

void record_state_free(RecordState *state) {
    for (size_t i = 0; i < state->checkpoint.count; i++)
        free((void *)(uintptr_t)state->checkpoint.arrays[i].name);
    free(state->checkpoint.arrays);
}

/* ---- result file ----------------------------------------------------------------------------- */

/* The bins of the last evaluation, as columns. */
typedef struct {
    int64_t *from, *count;
    double *accuracy, *loss;
} Columns;

static Columns columns(const EvaluateBin *bins, size_t count) {
    Columns c = {ALLOCATE(count, int64_t), ALLOCATE(count, int64_t), column(count), column(count)};
    for (size_t b = 0; b < count; b++) {
        c.from[b] = bins[b].from;
        c.count[b] = bins[b].count;
        c.accuracy[b] = bins[b].accuracy;
        c.loss[b] = bins[b].loss;
    }
    return c;
}

static void free_columns(Columns *c) {
    free(c->from);
    free(c->count);
    free(c->accuracy);
    free(c->loss);
}

/* The current time, or the one that SOURCE_DATE_EPOCH fixes. */
static void created(char text[32]) {
    const char *fixed = getenv("SOURCE_DATE_EPOCH");
    const time_t now = fixed ? (time_t)strtoll(fixed, NULL, 10) : time(NULL);
    struct tm utc;
    gmtime_r(&now, &utc);
    strftime(text, 32, "%Y-%m-%dT%H:%M:%SZ", &utc);
}

static const char *joined_axes(const Parameter *p, char text[96]) {
    text[0] = 0;
    for (int axis = 0; axis < p->rank; axis++)
        snprintf(text + strlen(text), 96 - strlen(text), "%s%s", axis ? "," : "", p->axes[axis]);
    return text;
}

int record_write(Record *r, const Trainer *t, const Environment *environment,
                 const ScoreDecay *decay, bool completed, const char *exit_reason,
                 const char *path) {
    const Config *config = r->config;
    const Model *model = t->model;
    visit_tables(r, model, TABLES_UPDATE);
    char time_text[32];
    created(time_text);

    const size_t lengths = r->lengths;
    double *random = column(lengths), *majority = column(lengths);
    uint8_t *defined = ALLOCATE(lengths, uint8_t);
    const char **reason = ALLOCATE(lengths, const char *);
    Columns *by_position = ALLOCATE(lengths, Columns), *by_distance = ALLOCATE(lengths, Columns);
    ResultByPosition *positions = ALLOCATE(lengths, ResultByPosition);
    ResultByDistance *distances = ALLOCATE(lengths, ResultByDistance);
    size_t binned = 0;
    for (size_t l = 0; l < lengths; l++) {
        const Evaluation *e = &r->last[l];
        random[l] = e->random;
        majority[l] = e->majority;
        defined[l] = !*e->undefined;
        reason[l] = e->undefined;
        by_position[l] = columns(e->by_position, e->position_bins);
        by_distance[l] = columns(e->by_distance, e->distance_bins);
        if (!defined[l] || !e->position_bins) continue;
        positions[binned] = (ResultByPosition){e->length, e->position_bins, by_position[l].from,
                                               by_position[l].accuracy, by_position[l].loss,
                                               by_position[l].count};
        distances[binned++] = (ResultByDistance){e->length, e->distance_bins, by_distance[l].from,
                                                 by_distance[l].accuracy, by_distance[l].count};
    }
    ResultTable *tables = ALLOCATE(r->table_count, ResultTable);
    for (size_t i = 0; i < r->table_count; i++) {
        const RecordTable *own = &r->tables[i];
        tables[i] = (ResultTable){
            .table = own->table,
            .update_count = own->parameter >= 0 ? t->update_count[own->parameter] : NULL,
            .snapshots = r->snapshot_rows ? own->snapshots : NULL};
    }
    const size_t parameters = (size_t)model->parameter_count;
    ResultParameter *arrays = ALLOCATE(parameters, ResultParameter);
    char(*axes)[96] = allocate(parameters, sizeof *axes);
    for (size_t i = 0; i < parameters; i++) {
        const Parameter *p = &model->parameters[i];
        arrays[i] = (ResultParameter){.name = p->name,
                                      .rank = p->rank,
                                      .shape_names = joined_axes(p, axes[i]),
                                      .values = model->values + p->offset};
        memcpy(arrays[i].dims, p->dims, (size_t)p->rank * sizeof *p->dims);
    }
    ResultFile file = {
        .name = config->name,
        .encoding = config->model.encoding->name,
        .task = config->task->name,
        .run_id = config->id,
        .config_sha256 = config->sha256,
        .binary_sha256 = environment->binary_sha256,
        .harness_version = environment->version,
        .git_commit = environment->git_commit,
        .git_dirty = environment->git_dirty,
        .created_utc = time_text,
        .completed = completed,
        .exit_reason = exit_reason,
        .moves = r->moves,
        .seed = config->seed,
        .trained_length = (int64_t)config_longest(config),
        .parameter_count = (int64_t)model_parameter_total(model),
        .lua = config->lua,
        .resolved_json = config->resolved_json,
        .sources = config->sources,
        .overrides = config->overrides,
        .cpu = environment->cpu,
        .isa = environment->isa,
        .openmp = environment->openmp,
        .blas = environment->blas,
        .compiler = environment->compiler,
        .cflags = environment->cflags,
        .lua_version = environment->lua,
        .os = environment->os,
        .rng = RNG_VERSION,
        .real_type = REAL_NAME,
        .threads = environment->threads,
        .init_seed = config->init_seed,
        .data_seed = config->data_seed,
        .train = {r->train_rows, r->step, r->tokens, r->loss, r->accuracy, r->learning_rate,
                  r->gradient_norm, r->tokens_per_second, r->seconds},
        .evaluate = {r->evaluate_rows, lengths, r->evaluate_step, config->evaluate.lengths.values,
                     r->evaluate_loss, r->token_accuracy, r->sequence_accuracy, r->low, r->high,
                     r->examples, random, majority, defined, reason},
        .validate = r->validation,
        .by_position_count = binned,
        .by_distance_count = binned,
        .by_position = positions,
        .by_distance = distances,
        .table_count = r->table_count,
        .tables = tables,
        .snapshot_count = r->snapshot_rows,
        .snapshot_step = r->snapshot_step,
        .array_count = parameters,
        .arrays = arrays,
    };
    if (decay)
        file.decay = (ResultDecay){decay->layers, decay->heads, decay->length, decay->score,
                                   decay->bound};
    const int error = result_write(&file, path);
    for (size_t l = 0; l < lengths; l++) {
        free_columns(&by_position[l]);
        free_columns(&by_distance[l]);
    }
    void *owned[] = {random,    majority,  defined, (void *)reason, by_position, by_distance,
                     positions, distances, tables,  arrays,         axes};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
    return error;
}

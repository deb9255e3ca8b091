#include "src/report/progress.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "src/utf8.h"

/* Seconds between lines on a terminal and elsewhere, and between samples of the window. */
static const double terminal_interval = 0.1, plain_interval = 10, sample_interval = 0.5;

/* ---- the moving window ---------------------------------------------------------------- */

static double clock_at(const Progress *progress, double now) {
    return (progress->paused ? progress->pause_start : now) - progress->pauses;
}

static void keep_sample(Progress *progress, ProgressSample sample) {
    progress->window[progress->samples++ % PROGRESS_WINDOW] = sample;
}

static ProgressSample sample_of(const ProgressState *state, double clock) {
    return (ProgressSample){clock, (double)state->step, state->tokens, state->flops};
}

/* What was done a second between the oldest sample and the latest step; 0s before the first. */
static ProgressSample rates(const Progress *progress) {
    size_t samples = progress->samples;
    ProgressSample old =
        progress->window[samples > PROGRESS_WINDOW ? samples % PROGRESS_WINDOW : 0];
    ProgressSample new = progress->latest;
    double seconds = new.clock - old.clock;
    if (!(seconds > 0)) return (ProgressSample){0};
    return (ProgressSample){seconds, (new.step - old.step) / seconds,
                            (new.tokens - old.tokens) / seconds, (new.flops - old.flops) / seconds};
}

/* ---- the line ------------------------------------------------------------------------- */

typedef struct {
    const Terminal *terminal;
    char text[1024];
    size_t length;       /* bytes, with color */
    size_t width, limit; /* columns */
} Line;

static void append(Line *line, const char *style, const char *text) {
    if (!*text) return;
    size_t room = sizeof line->text - line->length;
    int length = snprintf(line->text + line->length, room, "%s%s%s", style, text,
                          *style ? terminal_plain(line->terminal) : "");
    CHECK(length >= 0 && (size_t)length < room, "a progress line of %zu columns", line->width);
    line->length += (size_t)length;
    line->width += utf8_width(text);
}

/* One part, what stands before and after its value dim. The first part that does not fit is left
   out, and so are all that follow. */
static void add(Line *line, const char *before, const char *after, const char *format, ...)
    PRINTF_LIKE(4, 5);
static void add(Line *line, const char *before, const char *after, const char *format, ...) {
    char value[128];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(value, sizeof value, format, arguments);
    va_end(arguments);
    const char *gap = line->width ? "  " : "", *dim = terminal_dim(line->terminal);
    size_t width = utf8_width(gap) + utf8_width(before) + utf8_width(value) + utf8_width(after);
    if (line->width + width > line->limit) {
        line->limit = 0;
        return;
    }
    append(line, "", gap);
    append(line, dim, before);
    append(line, "", value);
    append(line, dim, after);
}

static const char *count_text(double value, char text[32]) {
    static const char units[] = " kMGT";
    int unit = 0;
    while (value >= 999.5 && units[unit + 1]) value /= 1000, unit++;
    snprintf(text, 32, value < 99.5 && unit ? "%.1f" : "%.0f", value);
    if (unit) strncat(text, &units[unit], 1);
    return text;
}

const char *progress_duration(double seconds, char text[32]) {
    long long all = (long long)ceil(fmin(seconds, 1e12));
    long long days = all / 86400, hours = all / 3600 % 24, minutes = all / 60 % 60;
    if (days)
        snprintf(text, 32, "%lldd %02lldh", days, hours);
    else if (hours)
        snprintf(text, 32, "%lld:%02lld:%02lld", hours, minutes, all % 60);
    else
        snprintf(text, 32, "%lld:%02lld", minutes, all % 60);
    return text;
}

static void add_sparkline(const Progress *progress, Line *line) {
    double values[PROGRESS_HISTORY], low = HUGE_VAL, high = -HUGE_VAL;
    size_t count = 0;
    for (size_t i = 0; i < PROGRESS_HISTORY; i++) {
        if (!progress->loss_counts[i]) continue;
        double mean = progress->loss_sums[i] / (double)progress->loss_counts[i];
        low = fmin(low, mean);
        high = fmax(high, mean);
        values[count++] = mean;
    }
    char text[3 * PROGRESS_HISTORY + 1];
    if (count > 1)
        add(line, "", "", "%s",
            terminal_sparkline(&progress->terminal, count, values, low, high, text));
}

static void add_position(const Progress *progress, Line *line) {
    const ProgressState *state = &progress->state;
    if (progress->stages > 1) add(line, "stage ", "", "%d/%d", state->stage, progress->stages);
    double share = progress->steps ? (double)state->step / (double)progress->steps : 1;
    add(line, "step ", "", "%lld/%lld %.0f %%", (long long)state->step, (long long)progress->steps,
        floor(100 * share));
}

/* The parts in the order in which a narrow terminal keeps them. */
static void add_all(const Progress *progress, Line *line) {
    const ProgressState *state = &progress->state;
    ProgressSample rate = rates(progress);
    char text[32];
    add_position(progress, line);
    if (!isnan(state->loss))
        add(line, "loss ", "", state->loss < 0.01 ? "%.1e" : "%.3f", state->loss);
    if (!isnan(state->accuracy)) {
        double percent = 100 * state->accuracy; /* only what is whole says 100.0 */
        add(line, "accuracy ", " %", "%.1f", state->accuracy < 1 ? fmin(percent, 99.9) : percent);
    }
    bool by_flops = progress->flops > 0 && rate.flops > 0;
    double left = by_flops ? (progress->flops - state->flops) / rate.flops
                           : (double)(progress->steps - state->step) / rate.step;
    if (isfinite(left) && state->step < progress->steps)
        add(line, "eta ", "", "%s", progress_duration(fmax(left, 0), text));
    if (rate.tokens > 0) add(line, "", " tokens/s", "%s", count_text(rate.tokens, text));
    if (rate.flops > 0 && progress->peak > 0)
        add(line, "", " of peak", "%.0f %%", 100 * rate.flops / progress->peak);
    add_sparkline(progress, line);
}

/* Writes the line over the last one, or adds it where lines cannot be rewritten. One call, since
   stderr has no buffer. */
static void show(Progress *progress, double now, const Line *line, bool last) {
    if (progress->terminal.rewrites)
        fprintf(progress->to, "\r%s\033[K%s", line->text, last ? "\n" : "");
    else
        fprintf(progress->to, "%s\n", line->text);
    fflush(progress->to);
    progress->shown = now;
}

static Line empty_line(const Progress *progress) {
    /* A full last column would wrap on some terminals. */
    size_t limit = progress->terminal.rewrites ? terminal_width(&progress->terminal) - 1 : 512;
    return (Line){.terminal = &progress->terminal, .limit = limit};
}

static void show_state(Progress *progress, double now, bool last) {
    Line line = empty_line(progress);
    add_all(progress, &line);
    show(progress, now, &line, last);
    progress->shown_step = progress->state.step;
}

/* ---- calls ---------------------------------------------------------------------------- */

void progress_start(Progress *progress, double now, const ProgressState *state) {
    progress->state = *state;
    progress->latest = sample_of(state, clock_at(progress, now));
    keep_sample(progress, progress->latest);
    progress->shown = progress->terminal.rewrites ? -HUGE_VAL : now;
    progress->shown_step = state->step;
}

void progress_step(Progress *progress, double now, const ProgressState *state) {
    if (progress->quiet) return;
    double clock = clock_at(progress, now);
    if (state->stage != progress->state.stage) { /* another length: another speed */
        progress->samples = 0;
        keep_sample(progress, progress->latest);
    }
    progress->state = *state;
    progress->latest = sample_of(state, clock);
    if (clock - progress->window[(progress->samples - 1) % PROGRESS_WINDOW].clock >=
        sample_interval)
        keep_sample(progress, progress->latest);
    if (isfinite(state->loss) && progress->steps > 0) {
        int64_t part = (state->step - 1) * PROGRESS_HISTORY / progress->steps;
        if (part >= 0 && part < PROGRESS_HISTORY) {
            progress->loss_sums[part] += state->loss;
            progress->loss_counts[part]++;
        }
    }
    double interval = progress->terminal.rewrites ? terminal_interval : plain_interval;
    if (now - progress->shown >= interval) show_state(progress, now, false);
}

void progress_note(Progress *progress, double now, const char *what) {
    if (!progress->paused) progress->pause_start = now;
    progress->paused = true;
    if (progress->quiet || !progress->terminal.rewrites) return;
    Line line = empty_line(progress);
    if (what) {
        add_position(progress, &line);
        add(&line, "", "", "%s", what);
    }
    show(progress, now, &line, false);
}

void progress_resume(Progress *progress, double now) {
    if (progress->paused) progress->pauses += now - progress->pause_start;
    progress->paused = false;
}

void progress_end(Progress *progress, double now) {
    if (progress->quiet) return;
    if (progress->terminal.rewrites || progress->shown_step != progress->state.step)
        show_state(progress, now, true);
}

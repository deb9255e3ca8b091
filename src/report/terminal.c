#include "src/report/terminal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>

static bool is_set(const char *name) {
    const char *value = getenv(name);
    return value && *value;
}

static bool locale_is_utf8(void) {
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!is_set(names[i])) continue;
        const char *value = getenv(names[i]);
        return strcasestr(value, "utf-8") || strcasestr(value, "utf8");
    }
    return false;
}

Terminal terminal_look(int fd, ColorChoice choice) {
    const char *term = getenv("TERM"), *force = getenv("CLICOLOR_FORCE");
    bool capable = isatty(fd) && term && strcmp(term, "dumb") != 0;
    bool color = capable;
    if (force && strcmp(force, "0") != 0) color = true;
    if (is_set("NO_COLOR")) color = false;
    if (choice != COLOR_AUTO) color = choice == COLOR_ALWAYS;
    return (Terminal){.fd = fd, .rewrites = capable, .color = color, .utf8 = locale_is_utf8()};
}

size_t terminal_width(const Terminal *terminal) {
    struct winsize size;
    if (ioctl(terminal->fd, TIOCGWINSZ, &size) || !size.ws_col) return 80;
    return size.ws_col;
}

size_t terminal_height(const Terminal *terminal) {
    struct winsize size;
    if (ioctl(terminal->fd, TIOCGWINSZ, &size) || !size.ws_row) return 24;
    return size.ws_row;
}

const char *terminal_dim(const Terminal *terminal) {
    return terminal->color ? "\033[2m" : "";
}
const char *terminal_bold(const Terminal *terminal) {
    return terminal->color ? "\033[1m" : "";
}
const char *terminal_plain(const Terminal *terminal) {
    return terminal->color ? "\033[0m" : "";
}

const char *terminal_sparkline(const Terminal *terminal, size_t count, const double *values,
                               double low, double high, char *to) {
    static const char *const blocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    static const char *const plain[] = {".", ":", "-", "=", "+", "*", "#"};
    const char *const *marks = terminal->utf8 ? blocks : plain;
    int levels = terminal->utf8 ? 8 : 7;
    char *at = to;
    for (size_t i = 0; i < count; i++) {
        double height = high > low ? (values[i] - low) / (high - low) : 0;
        int level = (int)fmin(fmax(height, 0) * levels, levels - 1);
        at = stpcpy(at, isnan(values[i]) ? " " : marks[level]);
    }
    *at = 0;
    return to;
}

const char *terminal_bar(const Terminal *terminal, double share, size_t width, char *to) {
    static const char *const eighths[] = {" ", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    double filled = fmin(fmax(share, 0), 1) * (double)width; /* NaN: none */
    size_t ticks = (size_t)lround(8 * filled), full = ticks / 8;
    if (!terminal->utf8) full = (size_t)lround(filled);
    char *at = to;
    for (size_t i = 0; i < width; i++) {
        const char *mark = " ";
        if (i < full) mark = terminal->utf8 ? "█" : "#";
        if (i == full && terminal->utf8) mark = eighths[ticks % 8];
        at = stpcpy(at, mark);
    }
    *at = 0;
    return to;
}

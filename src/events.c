#include "src/events.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

int events_open(Events *events, const char *path, int64_t keep, bool echo) {
    *events = (Events){.fd = -1, .echo = echo};
    int fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd < 0) return errno;
    struct stat status;
    int error = fstat(fd, &status) ? errno : 0;
    /* Back to the end of a line, where the file is not the one that `keep` was counted in. */
    char last = 0;
    if (!error && keep > status.st_size) keep = status.st_size;
    while (!error && keep > 0 && last != '\n') {
        const ssize_t got = pread(fd, &last, 1, keep - 1); /* 0: it was cut in the meantime */
        if (got < 0) error = errno;
        else if (last != '\n') keep--;
    }
    if (!error && ftruncate(fd, keep)) error = errno;
    if (error) {
        close(fd);
        return error;
    }
    events->fd = fd;
    events->length = keep;
    return 0;
}

Json *events_begin(Events *events, const char *kind) {
    json_clear(&events->line);
    json_open(&events->line, '{');
    json_key(&events->line, "event");
    json_text(&events->line, kind);
    return &events->line;
}

int events_end(Events *events) {
    Json *line = &events->line;
    json_close(line, '}');
    json_end_line(line);

    /* One write does it; the loop is for a signal, and for a disk that fills up within the line:
       the rest then says why, and the part that fitted is taken back. */
    size_t done = 0;
    while (done < line->length) {
        ssize_t written = write(events->fd, line->text + done, line->length - done);
        if (written < 0 && errno != EINTR) {
            int error = errno;
            if (done && ftruncate(events->fd, events->length)) return errno;
            return error;
        }
        if (written > 0) done += (size_t)written;
    }
    events->length += (int64_t)line->length;

    if (events->echo && (fputs(line->text, stdout) == EOF || fflush(stdout) == EOF)) return errno;
    return 0;
}

int events_step(Events *events, const EventStep *row) {
    Json *line = events_begin(events, "step");
    json_key(line, "step");
    json_integer(line, row->step);
    json_key(line, "loss");
    json_number(line, row->loss);
    json_key(line, "accuracy");
    json_number(line, row->accuracy);
    json_key(line, "learning_rate");
    json_number(line, row->learning_rate);
    json_key(line, "gradient_norm");
    json_number(line, row->gradient_norm);
    json_key(line, "tokens");
    json_integer(line, row->tokens);
    json_key(line, "tokens_per_second");
    json_number(line, row->tokens_per_second);
    json_key(line, "seconds");
    json_number(line, row->seconds);
    return events_end(events);
}

int events_sync(Events *events) {
    return fdatasync(events->fd) ? errno : 0;
}

int events_close(Events *events) {
    int error = events->fd >= 0 && close(events->fd) ? errno : 0;
    json_free(&events->line);
    *events = (Events){.fd = -1};
    return error;
}

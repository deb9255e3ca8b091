#include "src/stop.h"

#include <signal.h>
#include <stddef.h>
#include <unistd.h>

static volatile sig_atomic_t first_signal, interrupted;

static void handle(int number) {
    if (number == SIGINT && interrupted) _exit(128 + SIGINT);
    if (number == SIGINT) interrupted = 1;
    if (!first_signal) first_signal = number;
}

void stop_install(void) {
    /* SA_RESTART: a write in progress goes on; nothing waits for a signal. */
    struct sigaction stop = {.sa_handler = handle, .sa_flags = SA_RESTART};
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    sigemptyset(&stop.sa_mask);
    sigemptyset(&ignore.sa_mask);

    static const int may_stay_ignored[] = {SIGINT, SIGHUP};
    for (size_t i = 0; i < sizeof may_stay_ignored / sizeof *may_stay_ignored; i++) {
        struct sigaction inherited;
        sigaction(may_stay_ignored[i], NULL, &inherited);
        if (inherited.sa_handler != SIG_IGN) sigaction(may_stay_ignored[i], &stop, NULL);
    }
    sigaction(SIGTERM, &stop, NULL);
    sigaction(SIGUSR1, &stop, NULL);
    sigaction(SIGPIPE, &ignore, NULL);
    sigaction(SIGXFSZ, &ignore, NULL);
}

bool stop_requested(void) {
    return first_signal != 0;
}

int stop_signal(void) {
    return first_signal;
}

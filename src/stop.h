/* stop: the wish to stop. SIGINT, SIGTERM, SIGUSR1 (sent by schedulers ahead of a time limit) and
   SIGHUP only set a flag; the training loop looks at it between steps, writes a checkpoint and
   leaves with EXIT_AGAIN. A second SIGINT leaves at once, with 130. Broken pipes and file size
   limits become errors of the write instead of signals.

   A terminal sends Ctrl-C to every process of its foreground group: a parent that forwards SIGINT
   to workers in its own group would send them a second one. */
#ifndef SRC_STOP_H
#define SRC_STOP_H

#include <stdbool.h>

/* Once, early. SIGINT and SIGHUP stay ignored where they were (nohup, background jobs). */
void stop_install(void);

bool stop_requested(void);

/* The signal that asked first, 0 when none did. */
int stop_signal(void);

#endif

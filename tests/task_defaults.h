/* The defaults of a task, with the files that they name: what a config that only names the task
   gives. */
#ifndef TESTS_TASK_DEFAULTS_H
#define TESTS_TASK_DEFAULTS_H

#include "tasks/task.h"

/* Bytes of files stay for the whole program; paths start at the root. */
void task_defaults(const Task *task, void *options);

#endif

#include "tasks/task.h"

#include <string.h>

#define TASK(name) extern const Task task_##name;
#include "tasks/list.h"
#undef TASK

#define TASK(name) &task_##name,
const Task *const tasks[] = {
#include "tasks/list.h"
};
#undef TASK

const size_t task_count = sizeof tasks / sizeof *tasks;

const Task *task_find(const char *name) {
    for (size_t i = 0; i < task_count; i++)
        if (!strcmp(tasks[i]->name, name)) return tasks[i];
    return NULL;
}

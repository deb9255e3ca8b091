#include "tasks/task.h"

#include <stdio.h>
#include <string.h>

#define TASK(name) extern const Task task_##name;
#include "tasks/list.h"
#undef TASK

#define TASK(name) &task_##name,
const Task *const tasks[] = {
#include "tasks/list.h"
};
#undef TASK

const size_t tasks_count = sizeof tasks / sizeof *tasks;

const Task *task_find(const char *name) {
    for (size_t i = 0; i < tasks_count; i++)
        if (!strcmp(tasks[i]->name, name)) return tasks[i];
    return NULL;
}

const char *task_symbol(int32_t symbol, char text[32]) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    bool letter = symbol < (int32_t)sizeof letters - 1;
    snprintf(text, 32, letter ? "%c" : "#%d", letter ? letters[symbol] : symbol);
    return text;
}

#include "tests/task_defaults.h"

#include <check.h>
#include <stdio.h>

static void read_whole(File *file) {
    static unsigned char bytes[1 << 20];
    FILE *from = fopen(file->path, "rb");
    ck_assert_msg(from, "%s cannot be read", file->path);
    file->size = fread(bytes, 1, sizeof bytes, from);
    file->bytes = bytes;
    ck_assert(file->size > 0 && file->size < sizeof bytes);
    fclose(from);
}

void task_defaults(const Task *task, void *options) {
    option_defaults(task->options, options);
    for (const Option *option = task->options; option && option->name; option++)
        if (option->type == OPTION_FILE) read_whole((File *)((char *)options + option->offset));
}

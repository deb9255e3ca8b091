/* The files that options of the task name: read once each, named by their hash. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/lua/reader.h"
#include "src/sha256.h"

/* The bytes and the hash of the file, or a mistake at the key. Where a hash stands already (in a
   result), it must be this file's. */
static void read_option(Reader *reader, const char *key, File *file) {
    Config *config = reader->config;
    char reason[SOURCE_REASON], *path;
    size_t size;
    unsigned char *bytes = source_bytes(reader->sources, file->path, reader_override(reader, key),
                                        &path, &size, reason);
    if (!bytes) {
        reader_mistake(reader, key, "%s: %s", file->path, reason);
        return;
    }
    File *own = &config->files[config->file_count];
    unsigned char *exact = ALLOCATE(size + 1, unsigned char);
    memcpy(exact, bytes, size);
    *own = (File){.size = size, .bytes = exact};
    sha256_text(bytes, size, own->sha256);
    config->file_count++;
    free(bytes);

    if (strlen(path) >= sizeof own->path)
        reader_mistake(reader, key, "%s: its full path is longer than %d bytes", file->path,
                       OPTION_TEXT_SIZE - 1);
    else if (*file->sha256 && strcmp(file->sha256, own->sha256))
        reader_mistake(reader, key, "%s is another file than that of the run: its sha256 is %s",
                       file->path, own->sha256);
    else
        *file = *own, strcpy(file->path, path);
    free(path);
}

void files_read(Reader *reader) {
    Config *config = reader->config;
    if (!config->task || reader_wrong(reader, "task")) return;
    for (const Option *option = config->task->options; option && option->name; option++) {
        if (option->type != OPTION_FILE) continue;
        char key[KEY_SIZE], stage_key[KEY_SIZE], place[KEY_SIZE];
        File *file = (File *)(config->task_options.bytes + option->offset);
        read_option(reader, reader_join(key, "task", option->name), file);
        for (int s = 0; s < config->train.stage_count; s++) {
            File *own = (File *)(config->train.stages[s].task_options.bytes + option->offset);
            snprintf(stage_key, sizeof stage_key, "train.stages.%d.%s", s + 1, option->name);
            if (!reader_given(reader, stage_key, place) || !strcmp(own->path, file->path))
                *own = *file;
            else
                read_option(reader, stage_key, own);
        }
    }
}

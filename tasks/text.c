/* BOS c1 c2 ..: a piece of a text, byte by byte; at each place the next byte is asked for. The last
   tenth of the file is held out: training draws its pieces from what stands before it, all other
   purposes from there. */
#include "tasks/task.h"

#include <stdio.h>
#include <string.h>

enum { BOS, BYTES, VOCABULARY = BYTES + 256 };

typedef struct {
    File file;
} TextOptions;

static const Option text_options[] = {
    {.name = "file",
     .type = OPTION_FILE,
     .offset = offsetof(TextOptions, file),
     .text = "tasks/text/opticks.txt",
     .doc = "the text; its last tenth is never trained on"},
    {.name = NULL},
};

static int text_vocabulary(const void *options) {
    (void)options;
    return VOCABULARY;
}

static size_t trained(const File *file) {
    return file->size - file->size / 10;
}

static const char *text_refuse(const void *options, size_t length) {
    static char reason[OPTION_TEXT_SIZE + 96];
    const File *file = &((const TextOptions *)options)->file;
    const size_t held_out = file->size - trained(file);
    if (!length) return "needs at least 1 token (BOS)";
    if (length <= held_out) return NULL;
    snprintf(reason, sizeof reason, "%zu bytes of %s are held out, the last tenth; at most that",
             held_out, file->path);
    return reason;
}

static void text_generate(const void *options, Rng *rng, size_t length, Example *example) {
    const File *file = &((const TextOptions *)options)->file;
    const bool training = rng_purpose(rng) == RNG_TRAIN;
    const size_t from = training ? 0 : trained(file), to = training ? trained(file) : file->size;
    const unsigned char *piece = file->bytes + from + rng_below(rng, to - from - length + 1);
    for (size_t t = 0; t < length; t++) {
        example->tokens[t] = t ? BYTES + piece[t - 1] : BOS;
        example->targets[t] = BYTES + piece[t];
        example->scored[t] = 1;
        example->distance[t] = 0; /* nobody knows */
    }
}

static double text_chance(const void *options) {
    (void)options;
    return 1.0 / 256;
}

static const char *text_token_text(const void *options, int32_t token, char text[32]) {
    (void)options;
    const int byte = token - BYTES;
    if (token == BOS) return strcpy(text, "BOS");
    snprintf(text, 32, byte > ' ' && byte < 127 ? "%c" : "x%02x", byte);
    return text;
}

const Task task_text = {
    .name = "text",
    .summary = "a piece of a text, byte by byte: say the next byte",
    .source = "language modelling of bytes, as Al-Rfou et al. 2018 (arXiv:1808.04444); here with "
              "BOS, pieces start anywhere, and the bundled text is Newton's Opticks, book 1, 1730",
    .options = text_options,
    .options_size = sizeof(TextOptions),
    .vocabulary = text_vocabulary,
    .refuse = text_refuse,
    .generate = text_generate,
    .chance = text_chance,
    .token_text = text_token_text,
    .solve = NULL,
};

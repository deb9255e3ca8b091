#include "src/shell.h"

#include "src/base.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *shell_word(const char *word) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789_./=,:+-@%";
    if (*word && !word[strspn(word, plain)]) return copy_text(word);
    char *text = ALLOCATE(4 * strlen(word) + 3, char), *to = text;
    *to++ = '\'';
    for (const char *c = word; *c; c++)
        if (*c == '\'') to += sprintf(to, "'\\''");
        else *to++ = *c;
    *to = '\'';
    return text;
}

char *shell_words(int count, const char *const *words) {
    char *line = copy_text("");
    for (int i = 0; i < count; i++) {
        char *word = shell_word(words[i]);
        char *longer = format_text("%s%s%s", line, i ? " " : "", word);
        free(line);
        free(word);
        line = longer;
    }
    return line;
}

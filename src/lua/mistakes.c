#include "src/lua/mistakes.h"

#include <stdlib.h>
#include <string.h>

#include "src/base.h"
#include "src/utf8.h"

enum { TEXT_SIZE = 1000, WORD_SIZE = 64 };

void mistake_add(MistakeList *list, int order, int line, char *text) {
    if (list->count++ >= MISTAKES_KEPT) {
        free(text);
        return;
    }
    const size_t length = strlen(text), half = TEXT_SIZE / 2;
    if (length > TEXT_SIZE) { /* a long name must not hide what is wrong with it */
        memcpy(text + half - 3, "...", 3);
        memmove(text + half, text + length - half, half + 1);
    }
    utf8_clean(text, false);
    list->kept[list->count - 1] = (Mistake){order, line, text};
}

static bool has_text(const MistakeList *list, const char *text) {
    for (int i = 0; i < list->count && i < MISTAKES_KEPT; i++)
        if (!strcmp(list->kept[i].text, text)) return true;
    return false;
}

void mistakes_merge(MistakeList *to, MistakeList *from) {
    for (int i = 0; i < from->count; i++) {
        const Mistake *mistake = i < MISTAKES_KEPT ? &from->kept[i] : NULL;
        if (!mistake) to->count += to->count >= MISTAKES_KEPT; /* only counted */
        else if (has_text(to, mistake->text)) free(mistake->text);
        else mistake_add(to, mistake->order, mistake->line, mistake->text);
    }
    from->count = 0;
}

static bool before(const Mistake *a, const Mistake *b) {
    if (a->order != b->order) return a->order < b->order;
    if (a->line != b->line) return a->line < b->line;
    return strcmp(a->text, b->text) < 0; /* Lua gives the keys of a table in any order */
}

void mistakes_finish(MistakeList *list, Mistakes *to) {
    int kept = list->count < MISTAKES_KEPT ? list->count : MISTAKES_KEPT;
    /* By insertion: the list is short. */
    for (int i = 1; i < kept; i++) {
        Mistake moved = list->kept[i];
        int j = i;
        for (; j > 0 && before(&moved, &list->kept[j - 1]); j--) list->kept[j] = list->kept[j - 1];
        list->kept[j] = moved;
    }
    to->count = list->count;
    to->text = NULL;
    for (int i = 0; i < kept; i++) {
        char *longer = format_text("%s%s\n", to->text ? to->text : "", list->kept[i].text);
        free(to->text);
        to->text = longer;
        free(list->kept[i].text);
    }
    if (list->count > kept) {
        char *longer = format_text("%s... and %d more\n", to->text, list->count - kept);
        free(to->text);
        to->text = longer;
    }
    list->count = 0;
}

/* Optimal string alignment: insertions, deletions, changes, swaps of neighbours. */
static int distance(const char *a, const char *b) {
    int rows[3][WORD_SIZE + 1];
    int *last = rows[0], *now = rows[1], *next = rows[2];
    int na = (int)strlen(a), nb = (int)strlen(b);
    for (int j = 0; j <= nb; j++) now[j] = j;
    for (int i = 1; i <= na; i++) {
        next[0] = i;
        for (int j = 1; j <= nb; j++) {
            int best = now[j - 1] + (a[i - 1] != b[j - 1]);
            if (best > now[j] + 1) best = now[j] + 1;
            if (best > next[j - 1] + 1) best = next[j - 1] + 1;
            bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if (swapped && best > last[j - 2] + 1) best = last[j - 2] + 1;
            next[j] = best;
        }
        int *free_row = last;
        last = now, now = next, next = free_row;
    }
    return now[nb];
}

const char *mistake_nearest(const char *word, int count, const char *const *list) {
    size_t length = strlen(word);
    if (length > WORD_SIZE) return NULL;
    const char *nearest = NULL;
    int least_distance = length > 2 ? 1 + (int)length / 4 : (int)length / 2;
    for (int i = 0; i < count; i++) {
        if (strlen(list[i]) > WORD_SIZE) continue;
        int d = distance(word, list[i]);
        if (d < least_distance || (d == least_distance && !nearest)) {
            nearest = list[i];
            least_distance = d;
        }
    }
    return nearest;
}

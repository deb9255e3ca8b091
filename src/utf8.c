#include "src/utf8.h"

#include <string.h>

size_t utf8_decode(const char *text, uint32_t *code) {
    const unsigned char *bytes = (const unsigned char *)text;
    static const uint32_t smallest[] = {0, 0x80, 0x800, 0x10000};
    size_t more = bytes[0] >= 0xF0 ? 3 : bytes[0] >= 0xE0 ? 2 : bytes[0] >= 0xC0 ? 1 : 0;
    uint32_t value = more ? bytes[0] & (0x3Fu >> more) : bytes[0];
    size_t seen = 0;
    while (seen < more && (bytes[seen + 1] & 0xC0) == 0x80)
        value = value << 6 | (bytes[++seen] & 0x3F);
    int stray = bytes[0] >= 0xF8 || (!more && bytes[0] >= 0x80);
    int surrogate = value >= 0xD800 && value <= 0xDFFF;
    if (stray || seen < more || value < smallest[more] || surrogate || value > 0x10FFFF) {
        *code = 0xFFFD;
        return 1;
    }
    *code = value;
    return more + 1;
}

/* The ranges that matter, from Unicode 15's EastAsianWidth.txt (W, F) and categories Mn, Cf. */
static const struct {
    uint32_t first, last;
    size_t width;
} ranges[] = {
    {0x0300, 0x036F, 0},   {0x1100, 0x115F, 2},   {0x1AB0, 0x1AFF, 0}, {0x1DC0, 0x1DFF, 0},
    {0x200B, 0x200F, 0},   {0x20D0, 0x20FF, 0},   {0x2E80, 0x303E, 2}, {0x3041, 0xA4CF, 2},
    {0xAC00, 0xD7A3, 2},   {0xF900, 0xFAFF, 2},   {0xFE00, 0xFE0F, 0}, {0xFE20, 0xFE2F, 0},
    {0xFE30, 0xFE6F, 2},   {0xFF00, 0xFF60, 2},   {0xFFE0, 0xFFE6, 2}, {0x1F300, 0x1F64F, 2},
    {0x1F900, 0x1F9FF, 2}, {0x20000, 0x3FFFD, 2},
};

size_t utf8_width(const char *text) {
    size_t width = 0;
    while (*text) {
        uint32_t code;
        text += utf8_decode(text, &code);
        size_t columns = 1;
        for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
            if (code >= ranges[i].first && code <= ranges[i].last) columns = ranges[i].width;
        width += columns;
    }
    return width;
}

char *utf8_clean(char *text, bool ascii) {
    char *from = text, *to = text;
    while (*from) {
        uint32_t code;
        size_t bytes = utf8_decode(from, &code);
        bool plain = code >= ' ' && code < 127;
        bool shown = plain || (!ascii && code >= 0xA0 && code != 0xFFFD);
        if (shown)
            memmove(to, from, bytes);
        else
            *to = '?';
        to += shown ? bytes : 1;
        from += bytes;
    }
    *to = 0;
    return text;
}

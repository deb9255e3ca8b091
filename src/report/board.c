#include "src/report/board.h"

static const double interval = 0.2; /* seconds */

bool board_due(const Board *board, double now) {
    return board->terminal.rewrites && now - board->when >= interval;
}

/* Bytes of the first `columns` characters. */
static int cut(const char *text, size_t columns) {
    int bytes = 0;
    for (; text[bytes]; bytes++)
        if (((unsigned char)text[bytes] & 0xC0) != 0x80 && !columns--) break;
    return bytes;
}

void board_show(Board *board, double now, int count, char *const *lines) {
    if (!board->terminal.rewrites) return;
    const size_t width = terminal_width(&board->terminal) - 1;
    const int room = (int)terminal_height(&board->terminal) - 1;
    if (board->shown) fprintf(board->to, "\033[%dA", board->shown);
    board->shown = 0;
    for (int i = count > room ? count - room : 0; i < count; i++, board->shown++)
        fprintf(board->to, "\r%.*s\033[K\n", cut(lines[i], width), lines[i]);
    fputs("\033[J", board->to);
    fflush(board->to);
    board->when = now;
}

void board_clear(Board *board) {
    if (!board->shown) return;
    fprintf(board->to, "\033[%dA\r\033[J", board->shown);
    fflush(board->to);
    board->shown = 0;
    board->when = 0;
}

/* The whole terminal, drawn over and over: a screen of its own, keys as they are pressed.
 *
 * The terminal is as it was after every end: a return, exit(), and the signals that end a process
 * by default (they still do, with their own exit status). Ctrl-Z gives it back until the program
 * goes on. A process has one. */
#ifndef CSE_CLI_TERMINAL_FULL_SCREEN_H
#define CSE_CLI_TERMINAL_FULL_SCREEN_H

#include <stdbool.h>
#include <stddef.h>

#include "csengine/status.h"

/* Keys that are no character. */
enum {
    CSE_KEY_NONE = 0,
    CSE_KEY_ENTER = 13,
    CSE_KEY_ESCAPE = 27,
    CSE_KEY_BACKSPACE = 127,
    CSE_KEY_UP = 256,
    CSE_KEY_DOWN,
    CSE_KEY_PAGE_UP,
    CSE_KEY_PAGE_DOWN,
    CSE_KEY_HOME,
    CSE_KEY_END,
    CSE_KEY_F1, /* and on to F10 */
    CSE_KEY_F10 = CSE_KEY_F1 + 9,
    CSE_KEY_RESIZED, /* no key: the size has changed, or the screen is to be drawn again */
    CSE_KEY_CLOSED,  /* no key: the terminal is gone */
    CSE_KEY_OTHER,
};

/* CSE_USAGE when stdin and stdout are no terminal, or one that cannot be drawn on; `instead` says
 * what to do then. */
cse_status cse_full_screen_open(const char *instead);
void cse_full_screen_close(void);

typedef struct cse_screen_size {
    int rows, columns;
} cse_screen_size;
cse_screen_size cse_full_screen_size(void);

/* Shows lines, each ended by "\n", from the first row on; what was there is replaced. */
void cse_full_screen_draw(const char *lines);

/* The next key; CSE_KEY_NONE after so many milliseconds without one. */
int cse_full_screen_key(int wait_ms);

#endif

/* The screen is given back by functions that a signal's handler may call. */
#include "cli/terminal/full_screen.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "engine/base/text.h"

enum { ESCAPE_MS = 50, LEAST_ROWS = 1 };

static struct termios before;
static volatile sig_atomic_t is_open, is_resized;

static const char enter_text[] = "\033[?1049h\033[?25l\033[H\033[2J";
static const char leave_text[] = "\033[?25h\033[?1049l";

static void put(const char *text, size_t size)
{
    while (size > 0) {
        const ssize_t written = write(STDOUT_FILENO, text, size);
        if (written < 0 && errno != EINTR && errno != EAGAIN)
            return;
        text += written > 0 ? written : 0;
        size -= written > 0 ? (size_t)written : 0;
    }
}

static void leave(void)
{
    if (!is_open)
        return;
    is_open = 0;
    tcsetattr(STDIN_FILENO, TCSANOW, &before);
    put(leave_text, sizeof leave_text - 1);
}

/* Ctrl-C stays a signal, so that it works also while a server is waited for. */
static void enter(void)
{
    struct termios raw = before;
    raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    raw.c_iflag &= ~(tcflag_t)(ICRNL | IXON);
    raw.c_cc[VMIN] = 0;
    raw.c_cc[VTIME] = 0;
    is_open = 1;
    tcsetattr(STDIN_FILENO, TCSANOW, &raw);
    put(enter_text, sizeof enter_text - 1);
}

static void end_by(int number)
{
    leave();
    signal(number, SIG_DFL);
    raise(number);
}

static void stop_for_now(int number)
{
    (void)number;
    const int kept = errno;
    leave();
    raise(SIGSTOP);
    enter();
    is_resized = 1;
    errno = kept;
}

static void note_resize(int number)
{
    (void)number;
    is_resized = 1;
}

static void take_signals(void)
{
    static const int ends[] = { SIGINT,  SIGTERM, SIGHUP, SIGQUIT, SIGABRT,
                                SIGSEGV, SIGBUS,  SIGFPE, SIGILL };
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        const struct sigaction action = { .sa_handler = end_by, .sa_flags = SA_NODEFER };
        sigaction(ends[i], &action, NULL);
    }
    const struct sigaction stopped = { .sa_handler = stop_for_now };
    const struct sigaction resized = { .sa_handler = note_resize };
    sigaction(SIGTSTP, &stopped, NULL);
    sigaction(SIGWINCH, &resized, NULL);
}

cse_status cse_full_screen_open(const char *instead)
{
    static bool is_registered;
    const char *term = getenv("TERM");
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO) || tcgetattr(STDIN_FILENO, &before) != 0)
        return cse_fail(CSE_USAGE, "stdin and stdout are no terminal: %s", instead);
    if (term == NULL || *term == '\0' || strcmp(term, "dumb") == 0)
        return cse_fail(CSE_USAGE, "this terminal (TERM=%s) cannot be drawn on: %s",
                        term != NULL ? term : "", instead);
    if (!is_registered)
        atexit(leave);
    is_registered = true;
    take_signals();
    enter();
    return CSE_OK;
}

void cse_full_screen_close(void)
{
    leave();
}

cse_screen_size cse_full_screen_size(void)
{
    struct winsize size = { .ws_row = 0 };
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row < LEAST_ROWS ||
        size.ws_col == 0)
        return (cse_screen_size){ .rows = 24, .columns = 80 };
    return (cse_screen_size){ .rows = size.ws_row, .columns = size.ws_col };
}

/* In one write, so that no half of it is seen. */
void cse_full_screen_draw(const char *lines)
{
    cse_text out = { 0 };
    cse_text_add(&out, "\033[H");
    for (const char *line = lines; *line != '\0';) {
        const size_t length = strcspn(line, "\n");
        cse_text_add_bytes(&out, line, length);
        cse_text_add(&out, "\033[0m\033[K");
        line += length + (line[length] == '\n');
        if (*line != '\0')
            cse_text_add(&out, "\r\n");
    }
    cse_text_add(&out, "\033[J");
    put(out.data, out.size);
    cse_text_clear(&out);
}

/* ---- keys ---- */

/* False: none came in time. */
static bool next_byte(int wait_ms, unsigned char *byte)
{
    struct pollfd polled = { .fd = STDIN_FILENO, .events = POLLIN };
    return poll(&polled, 1, wait_ms) > 0 && read(STDIN_FILENO, byte, 1) == 1;
}

typedef struct key_sequence {
    const char *text; /* after ESC */
    int key;
} key_sequence;

static const key_sequence sequences[] = {
    { "[A", CSE_KEY_UP },       { "OA", CSE_KEY_UP },       { "[B", CSE_KEY_DOWN },
    { "OB", CSE_KEY_DOWN },     { "[5~", CSE_KEY_PAGE_UP }, { "[6~", CSE_KEY_PAGE_DOWN },
    { "[H", CSE_KEY_HOME },     { "OH", CSE_KEY_HOME },     { "[1~", CSE_KEY_HOME },
    { "[F", CSE_KEY_END },      { "OF", CSE_KEY_END },      { "[4~", CSE_KEY_END },
    { "OP", CSE_KEY_F1 },       { "[11~", CSE_KEY_F1 },     { "[[A", CSE_KEY_F1 },
    { "OR", CSE_KEY_F1 + 2 },   { "[13~", CSE_KEY_F1 + 2 }, { "[[C", CSE_KEY_F1 + 2 },
    { "OS", CSE_KEY_F1 + 3 },   { "[14~", CSE_KEY_F1 + 3 }, { "[[D", CSE_KEY_F1 + 3 },
    { "[17~", CSE_KEY_F1 + 5 }, { "[21~", CSE_KEY_F10 },
};

/* What follows ESC: the sequence of a key, or nothing. */
static int read_sequence(void)
{
    char text[8] = "";
    unsigned char byte;
    for (size_t size = 0; size + 1 < sizeof text && next_byte(ESCAPE_MS, &byte); size++) {
        text[size] = (char)byte;
        const bool is_end = byte >= 0x40 && byte <= 0x7e && !(size == 0 && strchr("[O", byte)) &&
                            !(size == 1 && byte == '[');
        if (is_end)
            break;
    }
    if (text[0] == '\0')
        return CSE_KEY_ESCAPE;
    for (size_t i = 0; i < sizeof sequences / sizeof sequences[0]; i++)
        if (strcmp(text, sequences[i].text) == 0)
            return sequences[i].key;
    return CSE_KEY_OTHER;
}

int cse_full_screen_key(int wait_ms)
{
    struct pollfd polled = { .fd = STDIN_FILENO, .events = POLLIN };
    unsigned char byte;
    if (!is_resized)
        (void)poll(&polled, 1, wait_ms);
    if (is_resized) {
        is_resized = 0;
        return CSE_KEY_RESIZED;
    }
    if ((polled.revents & (POLLIN | POLLHUP | POLLERR)) == 0)
        return CSE_KEY_NONE;
    if (read(STDIN_FILENO, &byte, 1) != 1)
        return CSE_KEY_CLOSED;
    if (byte == '\n' || byte == '\r')
        return CSE_KEY_ENTER;
    if (byte == '\b')
        return CSE_KEY_BACKSPACE;
    return byte == CSE_KEY_ESCAPE ? read_sequence() : byte;
}

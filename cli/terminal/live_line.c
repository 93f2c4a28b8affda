/* A thread draws the line at equal intervals, also while the program computes or waits. The
 * terminal's width is asked for each time: SIGWINCH goes to the foreground process group, and a
 * job leads one of its own. */
#include "cli/terminal/live_line.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "engine/base/arena.h"
#include "engine/base/clock.h"
#include "engine/base/log.h"

enum { TEXT_BYTES = 512 };
#define INTERVAL_NS 150000000L

struct cse_live_line {
    cse_live_line_options options;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t ended_changed;
    bool ended;
    char shown[TEXT_BYTES]; /* "" : nothing */
    int shown_width;
    int64_t drawn_ns; /* by cse_live_line_draw */
};

int cse_terminal_width(int file)
{
    struct winsize size = { .ws_col = 0 };
    if (ioctl(file, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    const char *columns = getenv("COLUMNS");
    int width = columns != NULL ? atoi(columns) : 0;
    return width > 0 ? width : 80;
}

static void erase(cse_live_line *line)
{
    if (line->shown[0] == '\0')
        return;
    fputs("\r\033[J", line->options.out);
    fflush(line->options.out);
    line->shown[0] = '\0';
}

/* The last column stays free: after a character in it terminals differ in where the cursor is. */
static void draw(cse_live_line *line)
{
    char text[TEXT_BYTES] = "";
    const int width = cse_terminal_width(fileno(line->options.out)) - 1;
    line->options.draw(line->options.self, width, text);
    if (strcmp(text, line->shown) == 0 && width == line->shown_width)
        return;
    if (text[0] == '\0') {
        erase(line);
        return;
    }
    fprintf(line->options.out, "%s%s\033[K\r", width != line->shown_width ? "\r\033[J" : "\r",
            text);
    fflush(line->options.out);
    memcpy(line->shown, text, sizeof text);
    line->shown_width = width;
}

static void *run(void *self)
{
    cse_live_line *line = self;
    pthread_mutex_lock(&line->mutex);
    while (!line->ended) {
        struct timespec next;
        draw(line);
        clock_gettime(CLOCK_MONOTONIC, &next);
        next.tv_nsec += INTERVAL_NS;
        if (next.tv_nsec >= 1000000000L) {
            next.tv_nsec -= 1000000000L;
            next.tv_sec++;
        }
        while (!line->ended &&
               pthread_cond_timedwait(&line->ended_changed, &line->mutex, &next) != ETIMEDOUT)
            ;
    }
    erase(line);
    pthread_mutex_unlock(&line->mutex);
    return NULL;
}

/* Prints a log line above the live line; `self` is the latter. */
static void print_log(void *self, const char *text)
{
    cse_live_line_lock(self);
    fputs(text, stderr);
    cse_live_line_unlock(self);
}

cse_live_line *cse_live_line_open(const cse_live_line_options *options)
{
    cse_live_line *line = cse_calloc(1, sizeof *line);
    pthread_condattr_t clock;
    sigset_t all, before;
    line->options = *options;
    pthread_mutex_init(&line->mutex, NULL);
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&line->ended_changed, &clock);
    pthread_condattr_destroy(&clock);
    /* Signals are for the program's own thread. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failure = options->no_thread ? 0 : pthread_create(&line->thread, NULL, run, line);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failure != 0) {
        free(line);
        return NULL;
    }
    cse_log_set_printer(print_log, line);
    return line;
}

void cse_live_line_close(cse_live_line **line)
{
    if (*line == NULL)
        return;
    cse_log_set_printer(NULL, NULL);
    pthread_mutex_lock(&(*line)->mutex);
    (*line)->ended = true;
    pthread_cond_signal(&(*line)->ended_changed);
    erase(*line);
    pthread_mutex_unlock(&(*line)->mutex);
    if (!(*line)->options.no_thread)
        pthread_join((*line)->thread, NULL);
    pthread_cond_destroy(&(*line)->ended_changed);
    pthread_mutex_destroy(&(*line)->mutex);
    free(*line);
    *line = NULL;
}

void cse_live_line_begin_change(cse_live_line *line)
{
    if (line != NULL)
        pthread_mutex_lock(&line->mutex);
}

void cse_live_line_end_change(cse_live_line *line)
{
    if (line != NULL)
        pthread_mutex_unlock(&line->mutex);
}

void cse_live_line_draw(cse_live_line *line)
{
    const int64_t now_ns = cse_clock_ns();
    if (line == NULL || now_ns - line->drawn_ns < INTERVAL_NS)
        return;
    line->drawn_ns = now_ns;
    cse_live_line_begin_change(line);
    draw(line);
    cse_live_line_end_change(line);
}

void cse_live_line_lock(cse_live_line *line)
{
    cse_live_line_begin_change(line);
    if (line != NULL)
        erase(line);
}

void cse_live_line_unlock(cse_live_line *line)
{
    if (line == NULL)
        return;
    fflush(line->options.out);
    draw(line);
    cse_live_line_end_change(line);
}

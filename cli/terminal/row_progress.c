/* The mean time of a row counts what it took to compile it. */
#include "cli/terminal/row_progress.h"

#include <math.h>
#include <string.h>

#include "cli/terminal/progress_line.h"
#include "cli/terminal/report.h"
#include "engine/base/clock.h"

double cse_rows_seconds_left(const cse_row_progress *r)
{
    const double running = r->row_ns > 0 ? (double)(cse_clock_ns() - r->row_ns) / 1e9 : 0;
    double each = (double)NAN;
    if (r->done > 0)
        each = r->seconds / r->done;
    else if (r->step > 0 && r->row_ns > 0)
        each = running * (double)r->steps / (double)r->step;
    if (r->rows <= 0)
        return (double)NAN;
    const double left = each * (r->rows - r->done) - (running < each ? running : each);
    return left > 0 || isnan(left) ? left : 0;
}

/* Adds a part if it fits. */
static void add(char text[512], int width, const char *part)
{
    const size_t length = strlen(text), more = strlen(part) + (length > 0);
    if (*part != '\0' && (int)(length + more) <= width && length + more < 512)
        snprintf(text + length, 512 - length, "%s%s", length > 0 ? " " : "", part);
}

void cse_rows_line(const cse_row_progress *r, int width, char text[512])
{
    char row[64], step[64], left[64] = "", duration[24];
    const double seconds = cse_rows_seconds_left(r);
    const int number = r->done + 1;
    text[0] = '\0';
    if (r->rows > 0 && !r->at_most)
        snprintf(row, sizeof row, "%s %d/%d", r->word, number < r->rows ? number : r->rows,
                 r->rows);
    else
        snprintf(row, sizeof row, "%s %d", r->word, number);
    snprintf(step, sizeof step, "step %lld/%lld", (long long)r->step, (long long)r->steps);
    if (seconds >= 0)
        snprintf(left, sizeof left, "%s%s left", r->at_most ? "at most " : "",
                 cse_short_duration(seconds, duration));
    add(text, width, row);
    add(text, width, left);
    add(text, width, step);
    add(text, width, r->name);
}

static void draw_rows(void *self, int width, char *text)
{
    cse_rows_line(self, width, text);
}

void cse_rows_open(cse_row_progress *r)
{
    if (!r->quiet && cse_is_terminal(2))
        r->line = cse_live_line_open(
            &(cse_live_line_options){ .out = stderr, .draw = draw_rows, .self = r });
}

void cse_rows_begin(cse_row_progress *r, const char *name)
{
    cse_live_line_begin_change(r->line);
    snprintf(r->name, sizeof r->name, "%s", name);
    r->step = 0;
    r->row_ns = cse_clock_ns();
    cse_live_line_end_change(r->line);
}

void cse_rows_step(cse_row_progress *r, int64_t step)
{
    cse_live_line_begin_change(r->line);
    r->step = step;
    cse_live_line_end_change(r->line);
}

void cse_rows_lock_done(cse_row_progress *r)
{
    cse_live_line_lock(r->line);
    if (r->row_ns > 0)
        r->seconds += (double)(cse_clock_ns() - r->row_ns) / 1e9;
    r->row_ns = 0;
    r->step = 0;
    r->name[0] = '\0';
    r->done++;
}

void cse_rows_unlock(cse_row_progress *r)
{
    char duration[24];
    const double left = cse_rows_seconds_left(r);
    if (r->line == NULL && !r->quiet && left >= 0) {
        fprintf(stderr, "%s %d done", r->word, r->done);
        if (!r->at_most)
            fprintf(stderr, " of %d", r->rows);
        fprintf(stderr, ", %s%s left\n", r->at_most ? "at most " : "",
                cse_short_duration(left, duration));
    }
    cse_live_line_unlock(r->line);
}

void cse_rows_close(cse_row_progress *r)
{
    cse_live_line_close(&r->line);
}

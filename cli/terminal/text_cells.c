/* A curve is a mean for each column of dots; neighbours are joined by dots above each other. */
#include "cli/terminal/text_cells.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"

/* Characters from here on may take two columns, or none; but for Braille patterns. */
enum { FIRST_WIDE = 0x300, BRAILLE = 0x2800, DOTS_ACROSS = 2, DOTS_UP = 4 };

static bool takes_one_column(const unsigned char *c, size_t length)
{
    if (length == 1)
        return *c >= 0x20 && *c < 0x7f;
    if (length == 2)
        return ((c[0] & 0x1f) << 6 | (c[1] & 0x3f))<FIRST_WIDE && * c> 0xc2;
    if (length == 3) { /* dashes, arrows, blocks */
        const int code = (c[0] & 0x0f) << 12 | (c[1] & 0x3f) << 6 | (c[2] & 0x3f);
        return code >= 0x2010 && code < 0x2900 && cse_utf8_is_printable((const char *)c, length);
    }
    return false;
}

static size_t length_of(const char *text)
{
    const unsigned char first = (unsigned char)*text;
    const size_t wanted = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    size_t length = 1;
    while (length < wanted && ((unsigned char)text[length] & 0xc0) == 0x80)
        length++;
    return length;
}

static int columns_of(const char *text)
{
    int columns = 0;
    for (; *text != '\0'; text += length_of(text))
        columns++;
    return columns;
}

void cse_add_cell(cse_text *line, const char *text, int width)
{
    const int wanted = abs(width), have = columns_of(text);
    for (int i = have; width < 0 && i < wanted; i++)
        cse_text_add(line, " ");
    int used = 0;
    for (; *text != '\0' && used < wanted; used++) {
        const size_t length = length_of(text);
        if (takes_one_column((const unsigned char *)text, length))
            cse_text_add_bytes(line, text, length);
        else
            cse_text_add(line, *text == '\t' ? " " : "?");
        text += length;
    }
    for (; width > 0 && used < wanted; used++)
        cse_text_add(line, " ");
}

bool cse_terminal_is_utf8(void)
{
    static const char *const names[] = { "LC_ALL", "LC_CTYPE", "LANG" };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *value = getenv(names[i]);
        if (value != NULL && *value != '\0')
            return strcasestr(value, "utf-8") != NULL || strcasestr(value, "utf8") != NULL;
    }
    return false;
}

/* ---- curves ---- */

typedef struct canvas {
    int across, up; /* dots */
    unsigned char *dots;
} canvas;

/* The mean of the points of each column; NaN: it has none. */
static void take_means(const cse_curve_plot *plot, int across, double *means)
{
    const double first = plot->x[0], last = plot->x[plot->count - 1];
    double *sums = cse_calloc((size_t)across, sizeof *sums);
    int *counts = cse_calloc((size_t)across, sizeof *counts);
    for (int i = 0; i < plot->count; i++) {
        const double place = last > first ? (plot->x[i] - first) / (last - first) : 0.5;
        int column = (int)(place * across);
        column = column < 0 ? 0 : column >= across ? across - 1 : column;
        if (!isfinite(plot->y[i]))
            continue;
        sums[column] += plot->y[i];
        counts[column]++;
    }
    for (int c = 0; c < across; c++)
        means[c] = counts[c] > 0 ? sums[c] / counts[c] : (double)NAN;
    free(sums);
    free(counts);
}

/* Columns between two points lie on the line through them. */
static void join_means(double *means, int across)
{
    int before = -1;
    for (int c = 0; c < across; c++) {
        if (isnan(means[c]))
            continue;
        for (int i = before + 1; before >= 0 && i < c; i++)
            means[i] = means[before] + (means[c] - means[before]) * (i - before) / (c - before);
        before = c;
    }
}

static bool range_of(const double *means, int across, double *low, double *high)
{
    *low = *high = (double)NAN;
    for (int c = 0; c < across; c++) {
        *low = fmin(*low, means[c]);
        *high = fmax(*high, means[c]);
    }
    return isfinite(*low) && isfinite(*high);
}

static void draw_means(const double *means, double low, double high, canvas *on)
{
    int before = -1;
    for (int c = 0; c < on->across; c++) {
        if (isnan(means[c])) {
            before = -1;
            continue;
        }
        const double place = high > low ? (means[c] - low) / (high - low) : 0.5;
        const int at = (int)(place * (on->up - 1) + 0.5);
        const int from = before < 0 ? at : before < at ? before + 1 : at;
        const int to = before < 0 ? at : before > at ? before - 1 : at;
        for (int y = from < at ? from : at; y <= (to > at ? to : at); y++)
            on->dots[(on->up - 1 - y) * on->across + c] = 1;
        before = at;
    }
}

/* Eight dots as one character. */
static void add_braille(const canvas *from, int row, int column, cse_text *out)
{
    static const unsigned char bits[DOTS_UP][DOTS_ACROSS] = {
        { 0x01, 0x08 }, { 0x02, 0x10 }, { 0x04, 0x20 }, { 0x40, 0x80 }
    };
    int code = BRAILLE;
    for (int y = 0; y < DOTS_UP; y++)
        for (int x = 0; x < DOTS_ACROSS; x++)
            if (from->dots[(row * DOTS_UP + y) * from->across + column * DOTS_ACROSS + x])
                code |= bits[y][x];
    const char bytes[3] = { (char)(0xe0 | code >> 12), (char)(0x80 | (code >> 6 & 0x3f)),
                            (char)(0x80 | (code & 0x3f)) };
    if (code == BRAILLE)
        cse_text_add(out, " ");
    else
        cse_text_add_bytes(out, bytes, sizeof bytes);
}

bool cse_plot_curve(const cse_curve_plot *plot, cse_text *out, double *low, double *high)
{
    canvas on = { .across = plot->columns * (plot->plain ? 1 : DOTS_ACROSS),
                  .up = plot->rows * (plot->plain ? 1 : DOTS_UP) };
    if (plot->count < 1 || plot->columns < 1 || plot->rows < 1)
        return false;
    on.dots = cse_calloc((size_t)on.across * (size_t)on.up, 1);
    double *means = cse_calloc((size_t)on.across, sizeof *means);
    take_means(plot, on.across, means);
    const bool has_numbers = range_of(means, on.across, low, high);
    join_means(means, on.across);
    if (has_numbers)
        draw_means(means, *low, *high, &on);
    for (int row = 0; has_numbers && row < plot->rows; row++) {
        for (int column = 0; column < plot->columns; column++)
            if (plot->plain)
                cse_text_add(out, on.dots[row * on.across + column] ? "*" : " ");
            else
                add_braille(&on, row, column, out);
        cse_text_add(out, "\n");
    }
    free(means);
    free(on.dots);
    return has_numbers;
}

/* Weights are fixed-point numbers of 22 fraction bits; rows are made first, then columns, each
 * rounded to a byte. All sums are of integers, so that the order of a sum changes nothing. */
#include "dataloader/pictures/image_resize.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"
#include "engine/base/vector_clones.h"

enum { CHANNELS = 3, FRACTION_BITS = 22 };

void cse_resizer_clear(cse_resizer *resizer)
{
    free(resizer->between);
    free(resizer->weights);
    free(resizer->begins);
    *resizer = (cse_resizer){ 0 };
}

static double triangle(double x)
{
    x = fabs(x);
    return x < 1 ? 1 - x : 0;
}

static double cubic(double x)
{
    const double a = -0.5;
    x = fabs(x);
    return x < 1   ? ((a + 2) * x - (a + 3)) * x * x + 1
           : x < 2 ? (((x - 5) * x + 8) * x - 4) * a
                   : 0;
}

/* A filter, and how far from its middle it reaches. */
typedef struct filter {
    double (*weight)(double x);
    double reach;
} filter;

static const filter filters[] = {
    [CSE_RESIZE_BILINEAR] = { triangle, 1 }, [CSE_RESIZE_BICUBIC] = { cubic, 2 }
};

/* A filter for one axis: `from` input pixels, each `scale` of which are as wide as it is at 1. */
typedef struct axis {
    const filter *filter;
    int from;
    double scale;
} axis;

/* The input pixels [range[0], range[1]) of one output pixel. */
static void range_of(const axis *a, double center, int range[2])
{
    const double support = a->filter->reach * a->scale;
    const int first = (int)(center - support + 0.5), end = (int)(center + support + 0.5);
    range[0] = first > 0 ? first : 0;
    range[1] = end < a->from ? end : a->from;
}

/* Weights of one output pixel: of the input pixels from begins[0] on, begins[1] of them. */
static void weigh_one(const axis *a, double center, int *begins, int *weights)
{
    int range[2];
    double sum = 0, values[2];
    const filter *f = a->filter;
    const double step = 1 / a->scale;
    range_of(a, center, range);
    for (int i = range[0]; i < range[1]; i++)
        sum += f->weight((i - center + 0.5) * step);
    for (int i = range[0]; i < range[1]; i++) {
        values[0] = f->weight((i - center + 0.5) * step);
        values[1] = sum != 0 ? values[0] / sum : values[0];
        weights[i - range[0]] =
            (int)((values[1] < 0 ? -0.5 : 0.5) + values[1] * (1 << FRACTION_BITS));
    }
    begins[0] = range[0];
    begins[1] = range[1] - range[0];
}

/* Of one axis: `count` output pixels from `first` on, of `to` that are made of `from`. */
typedef struct stretch {
    int from, to, first, count;
} stretch;

static axis axis_of(const cse_resizer *r, const stretch *s)
{
    const double scale = (double)s->from / s->to;
    return (axis){ .filter = &filters[r->filter], .from = s->from, .scale = scale < 1 ? 1 : scale };
}

/* The place of an output pixel in the input. */
static double center_of(const stretch *s, int i)
{
    return (s->first + i + 0.5) * ((double)s->from / s->to);
}

/* Returns how many weights each output pixel has at most. */
static int weigh(cse_resizer *r, const stretch *s)
{
    const axis a = axis_of(r, s);
    const int most = (int)ceil(a.filter->reach * a.scale) * 2 + 1;
    if ((size_t)most * (size_t)s->count > r->weight_capacity) {
        r->weight_capacity = (size_t)most * (size_t)s->count;
        r->weights = cse_realloc(r->weights, r->weight_capacity * sizeof *r->weights);
    }
    if ((size_t)s->count * 2 > r->begin_capacity) {
        r->begin_capacity = (size_t)s->count * 2;
        r->begins = cse_realloc(r->begins, r->begin_capacity * sizeof *r->begins);
    }
    for (int i = 0; i < s->count; i++)
        weigh_one(&a, center_of(s, i), r->begins + 2 * i, r->weights + (size_t)most * (size_t)i);
    return most;
}

/* The input pixels [range[0], range[1]) that the stretch is made of. */
static void reach(const cse_resizer *r, const stretch *s, int range[2])
{
    const axis a = axis_of(r, s);
    int ends[2][2];
    if (s->from == s->to) {
        range[0] = s->first;
        range[1] = s->first + s->count;
        return;
    }
    range_of(&a, center_of(s, 0), ends[0]);
    range_of(&a, center_of(s, s->count - 1), ends[1]);
    range[0] = ends[0][0];
    range[1] = ends[1][1];
}

void cse_resize_needs(const cse_resizer *r, const cse_resize_sizes *sizes,
                      const cse_image_window *window, cse_image_window *needed)
{
    int columns[2], rows[2];
    reach(r, &(stretch){ sizes->from_width, sizes->width, window->left, window->width }, columns);
    reach(r, &(stretch){ sizes->from_height, sizes->height, window->top, window->height }, rows);
    *needed = (cse_image_window){ columns[0], rows[0], columns[1] - columns[0], rows[1] - rows[0] };
}

static unsigned char byte_of(int sum)
{
    sum >>= FRACTION_BITS;
    return (unsigned char)(sum < 0 ? 0 : sum > 255 ? 255 : sum);
}

/* Red, green and blue of a pixel, and the byte that follows them. */
typedef int four_sums __attribute__((vector_size(16)));
typedef uint32_t four_words __attribute__((vector_size(16)));

/* The four bytes are one word, the first one its lowest. */
static inline four_sums load_pixel(const unsigned char *pixel)
{
    uint32_t word;
    memcpy(&word, pixel, sizeof word);
    const four_words words = { word, word, word, word }, places = { 0, 8, 16, 24 };
    return (four_sums)(words >> places & 255);
}

static inline void store_pixel(four_sums sums, unsigned char *to)
{
    sums >>= FRACTION_BITS;
    sums &= ~(sums < 0);
    const four_sums over = sums > 255;
    sums = (sums & ~over) | (over & 255);
    for (int c = 0; c < CHANNELS; c++)
        to[c] = (unsigned char)sums[c];
}

enum { ROWS = 4 };

/* ROWS rows at a time, which share the weights. Of the last pixel the byte behind it is read. */
CSE_VECTOR_CLONES(void, resize_rows,
                  (const int *weights, const int *begins, const int counts[2],
                   const unsigned char *from, size_t row_bytes, unsigned char *to),
                  (weights, begins, counts, from, row_bytes, to))
{
    const int most = counts[0], width = counts[1];
    const size_t to_bytes = (size_t)width * CHANNELS;
    for (int x = 0; x < width; x++, weights += most, to += CHANNELS) {
        const unsigned char *pixel = from + (size_t)begins[2 * x] * CHANNELS;
        const four_sums half = { 1 << (FRACTION_BITS - 1), 1 << (FRACTION_BITS - 1),
                                 1 << (FRACTION_BITS - 1), 1 << (FRACTION_BITS - 1) };
        four_sums sums[ROWS] = { half, half, half, half };
        for (int i = 0; i < begins[2 * x + 1]; i++, pixel += CHANNELS)
#pragma GCC unroll 4
            for (int row = 0; row < ROWS; row++)
                sums[row] += load_pixel(pixel + (size_t)row * row_bytes) * weights[i];
#pragma GCC unroll 4
        for (int row = 0; row < ROWS; row++)
            store_pixel(sums[row], to + (size_t)row * to_bytes);
    }
}

/* One row, of which no byte behind the last pixel is read. */
static void resize_row(const cse_resizer *r, int most, const unsigned char *from, int width,
                       unsigned char *to)
{
    for (int x = 0; x < width; x++, to += CHANNELS) {
        int sums[CHANNELS] = { 1 << (FRACTION_BITS - 1), 1 << (FRACTION_BITS - 1),
                               1 << (FRACTION_BITS - 1) };
        const int *weights = r->weights + (size_t)most * (size_t)x;
        const unsigned char *pixel = from + (size_t)r->begins[2 * x] * CHANNELS;
        for (int i = 0; i < r->begins[2 * x + 1]; i++, pixel += CHANNELS)
            for (int c = 0; c < CHANNELS; c++)
                sums[c] += pixel[c] * weights[i];
        for (int c = 0; c < CHANNELS; c++)
            to[c] = byte_of(sums[c]);
    }
}

/* Bytes of a row whose sums are kept at a time. */
enum { BLOCK = 64 };

/* One row of the result from `count` rows of `row_bytes`. */
CSE_VECTOR_CLONES(void, join_rows,
                  (const int *weights, int count, const unsigned char *from, size_t row_bytes,
                   unsigned char *to),
                  (weights, count, from, row_bytes, to))
{
    size_t x = 0;
    for (; x + BLOCK <= row_bytes; x += BLOCK) {
        int sums[BLOCK];
        for (int k = 0; k < BLOCK; k++)
            sums[k] = 1 << (FRACTION_BITS - 1);
        for (int i = 0; i < count; i++) {
            const unsigned char *row = from + (size_t)i * row_bytes + x;
            for (int k = 0; k < BLOCK; k++)
                sums[k] += row[k] * weights[i];
        }
        for (int k = 0; k < BLOCK; k++)
            to[x + (size_t)k] = byte_of(sums[k]);
    }
    for (; x < row_bytes; x++) {
        int sum = 1 << (FRACTION_BITS - 1);
        for (int i = 0; i < count; i++)
            sum += from[(size_t)i * row_bytes + x] * weights[i];
        to[x] = byte_of(sum);
    }
}

/* Rows [rows[0], rows[1]) in their new width. */
static void make_rows(cse_resizer *r, const cse_image_part *from, const stretch *columns,
                      const int rows[2], unsigned char *to)
{
    const int width = columns->count;
    const size_t to_bytes = (size_t)width * CHANNELS;
    const unsigned char *row = from->pixels + (size_t)rows[0] * from->row_bytes;
    int y = rows[0];
    if (columns->from == columns->to) {
        for (; y < rows[1]; y++, row += from->row_bytes, to += to_bytes)
            memcpy(to, row + (size_t)columns->first * CHANNELS, to_bytes);
        return;
    }
    const int most = weigh(r, columns), counts[2] = { most, width };
    /* Behind each of these rows stands another one, so that the byte behind it may be read. */
    for (; y + ROWS < rows[1]; y += ROWS, row += ROWS * from->row_bytes, to += ROWS * to_bytes)
        resize_rows(r->weights, r->begins, counts, row, from->row_bytes, to);
    for (; y < rows[1]; y++, row += from->row_bytes, to += to_bytes)
        resize_row(r, most, row, width, to);
}

void cse_resize_part(cse_resizer *r, const cse_image_part *from, const int size[2],
                     const cse_image_window *window, unsigned char *to)
{
    const stretch columns = { from->width, size[0], window->left, window->width };
    const stretch lines = { from->height, size[1], window->top, window->height };
    const bool same_height = size[1] == from->height;
    const size_t row_bytes = (size_t)window->width * CHANNELS;
    int rows[2];
    reach(r, &lines, rows);
    const size_t bytes = row_bytes * (size_t)(rows[1] - rows[0]);
    if (!same_height && bytes > r->between_capacity) {
        free(r->between);
        r->between = cse_malloc(bytes);
        r->between_capacity = bytes;
    }
    unsigned char *between = same_height ? to : r->between;
    make_rows(r, from, &columns, rows, between);
    if (same_height)
        return;
    const int tall = weigh(r, &lines);
    for (int y = 0; y < window->height; y++)
        join_rows(r->weights + (size_t)tall * (size_t)y, r->begins[2 * y + 1],
                  between + (size_t)(r->begins[2 * y] - rows[0]) * row_bytes, row_bytes,
                  to + (size_t)y * row_bytes);
}

void cse_resize(cse_resizer *resizer, const cse_image_part *from, int width, int height,
                unsigned char *to)
{
    const cse_image_window whole = { .width = width, .height = height };
    cse_resize_part(resizer, from, (const int[2]){ width, height }, &whole, to);
}

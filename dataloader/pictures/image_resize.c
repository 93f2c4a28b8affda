/* Weights are fixed-point numbers of 22 fraction bits; rows are made first, then columns, each
 * rounded to a byte. */
#include "dataloader/pictures/image_resize.h"

#include <math.h>
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

/* Weights of one output pixel: of the input pixels from begins[0] on, begins[1] of them. */
static void weigh_one(const axis *a, double center, int *begins, int *weights)
{
    double sum = 0, values[2];
    const filter *f = a->filter;
    const int from = a->from;
    const double support = f->reach * a->scale, step = 1 / a->scale;
    int first = (int)(center - support + 0.5), end = (int)(center + support + 0.5);
    first = first > 0 ? first : 0;
    end = end < from ? end : from;
    for (int i = first; i < end; i++)
        sum += f->weight((i - center + 0.5) * step);
    for (int i = first; i < end; i++) {
        values[0] = f->weight((i - center + 0.5) * step);
        values[1] = sum != 0 ? values[0] / sum : values[0];
        weights[i - first] = (int)((values[1] < 0 ? -0.5 : 0.5) + values[1] * (1 << FRACTION_BITS));
    }
    begins[0] = first;
    begins[1] = end - first;
}

/* Returns how many weights each output pixel has at most. */
static int weigh(cse_resizer *r, int from, int to)
{
    const double scale = (double)from / to;
    const axis a = { .filter = &filters[r->filter], .from = from, .scale = scale < 1 ? 1 : scale };
    const int most = (int)ceil(a.filter->reach * a.scale) * 2 + 1;
    if ((size_t)most * (size_t)to > r->weight_capacity) {
        r->weight_capacity = (size_t)most * (size_t)to;
        r->weights = cse_realloc(r->weights, r->weight_capacity * sizeof *r->weights);
    }
    if ((size_t)to * 2 > r->begin_capacity) {
        r->begin_capacity = (size_t)to * 2;
        r->begins = cse_realloc(r->begins, r->begin_capacity * sizeof *r->begins);
    }
    for (int i = 0; i < to; i++)
        weigh_one(&a, (i + 0.5) * scale, r->begins + 2 * i, r->weights + (size_t)most * (size_t)i);
    return most;
}

static unsigned char byte_of(int sum)
{
    sum >>= FRACTION_BITS;
    return (unsigned char)(sum < 0 ? 0 : sum > 255 ? 255 : sum);
}

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

void cse_resize(cse_resizer *r, const cse_image_part *from, int width, int height,
                unsigned char *to)
{
    const size_t row_bytes = (size_t)width * CHANNELS, bytes = row_bytes * (size_t)from->height;
    const bool same_width = width == from->width, same_height = height == from->height;
    unsigned char *between = to;
    if (!same_height) {
        if (bytes > r->between_capacity) {
            free(r->between);
            r->between = cse_malloc(bytes);
            r->between_capacity = bytes;
        }
        between = r->between;
    }
    const int most = same_width ? 0 : weigh(r, from->width, width);
    for (int y = 0; y < from->height; y++) {
        const unsigned char *row = from->pixels + (size_t)y * from->row_bytes;
        if (same_width)
            memcpy(between + (size_t)y * row_bytes, row, row_bytes);
        else
            resize_row(r, most, row, width, between + (size_t)y * row_bytes);
    }
    if (same_height)
        return;
    const int tall = weigh(r, from->height, height);
    for (int y = 0; y < height; y++)
        join_rows(r->weights + (size_t)tall * (size_t)y, r->begins[2 * y + 1],
                  between + (size_t)r->begins[2 * y] * row_bytes, row_bytes,
                  to + (size_t)y * row_bytes);
}

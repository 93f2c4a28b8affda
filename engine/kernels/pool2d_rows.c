/* Pooling by whole rows of windows, for small windows with any stride and padding.
 *
 * A row of the plane, with its padding, is cut into phases: phase q holds the columns q, q +
 * stride, q + 2 stride, ... Then tap j of all windows of a row lies in order, in phase j % stride
 * from position j / stride on, and loops over windows are loops over vectors.
 *
 * Maxima are taken along each row of the plane once, and then over the rows of the window: the
 * first of equals is the same. Averages add tap by tap. The rows that a window can reach are kept
 * in a ring of slots. Gradients are summed in the same phases, tap by tap from the last to the
 * first, which is the order of the windows for each element.
 *
 * Rows of windows are padded to whole vectors; what is computed there is not stored, or is 0. */
#include <string.h>

#include "engine/base/vector_clones.h"
#include "engine/kernels/pool2d.h"

enum { LANES = 16, MOST_TAPS = 32, FEWEST_WINDOWS = 4 };

/* The compiler makes several vectors of one where the processor's are shorter. */
typedef float lanes __attribute__((vector_size(LANES * sizeof(float))));
typedef int32_t integers __attribute__((vector_size(LANES * sizeof(int32_t))));

/* Lengths in floats, multiples of LANES. */
typedef struct layout {
    int64_t windows; /* of a row */
    int64_t phase, phases;
    int64_t line;  /* a row with its padding */
    int64_t slots; /* of the ring */
} layout;

/* The working memory. Slot y % slots of a ring belongs to row y of the plane. */
typedef struct rows {
    const cse_pool2d *kernel;
    const cse_pool2d_plane *plane;
    layout at;
    int64_t offsets[MOST_TAPS]; /* of each tap in the phases of a row */
    float *cut_line, *joined_line;
    float *phases; /* ring: of the values (average) or of the gradient */
    float *values; /* maximum: phases of one row */
    float *maxima; /* ring: along each row, and at which taps they are */
    int32_t *taps;
    int32_t *first_taps; /* of each window: the first one outside the padding */
    float *columns;      /* of each window: those outside the padding */
    float *result;       /* of a row of windows; or the gradient's share of each */
    int32_t *winners;    /* of a row of windows: row in the window * taps of a row + tap */
    int64_t next;        /* rows that are in the ring, or were */
    int64_t written;     /* rows of the gradient that are stored */
} rows;

CSE_VECTOR_INLINE void load(lanes *to, const float *from)
{
    memcpy(to, from, sizeof *to);
}

CSE_VECTOR_INLINE void load_integers(integers *to, const int32_t *from)
{
    memcpy(to, from, sizeof *to);
}

/* `to` becomes x where the lanes of `where` are -1. */
CSE_VECTOR_INLINE void choose(lanes *to, const integers *where, const lanes *x)
{
    *to = (lanes)(((integers)*x & *where) | ((integers)*to & ~*where));
}

CSE_VECTOR_INLINE void keep_later(lanes *result, const lanes *x)
{
    const integers where = (*x > *result) | (*x != *x);
    choose(result, &where, x);
}

/* Keeps the first maximum, and its number. */
CSE_VECTOR_INLINE void keep_first(lanes *largest, integers *winner, const lanes *x,
                                  const integers *number)
{
    const integers where = (*x > *largest) | ((*x != *x) & (*largest == *largest));
    choose(largest, &where, x);
    *winner = (*number & where) | (*winner & ~where);
}

/* ---- working memory ---- */

static int64_t whole_lanes(int64_t count)
{
    return (count + LANES - 1) / LANES * LANES;
}

static layout layout_of(const cse_pool2d *kernel)
{
    const int64_t stride = kernel->stride[1], taps = kernel->kernel[1];
    const int64_t padded = kernel->sizes[1] + 2 * kernel->padding[1];
    layout at = { .windows = whole_lanes(kernel->pooled[1]) };
    at.phase = whole_lanes(at.windows + (taps - 1) / stride);
    at.phases = (stride < taps ? stride : taps) * at.phase;
    at.line = whole_lanes(padded > at.phase * stride ? padded : at.phase * stride);
    at.slots = kernel->kernel[0] < kernel->sizes[0] ? kernel->kernel[0] : kernel->sizes[0];
    return at;
}

static size_t scratch_bytes(const cse_pool2d *kernel)
{
    const layout at = layout_of(kernel);
    const int64_t floats =
        2 * at.line + (at.slots + 1) * at.phases + 2 * at.slots * at.windows + 4 * at.windows;
    return (size_t)floats * sizeof(float);
}

static void fill(float *values, float with, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        values[i] = with;
}

static float *take(char **place, int64_t count)
{
    float *taken = (float *)(void *)*place;
    *place += (size_t)count * sizeof(float);
    return taken;
}

static int32_t *take_integers(char **place, int64_t count)
{
    int32_t *taken = (int32_t *)(void *)*place;
    *place += (size_t)count * sizeof(int32_t);
    return taken;
}

static void begin(const cse_pool2d *kernel, const cse_pool2d_plane *plane, rows *r)
{
    const layout at = layout_of(kernel);
    char *place = plane->place;
    const float outside = kernel->maximum ? -INFINITY : 0;
    *r = (rows){ .kernel = kernel, .plane = plane, .at = at };
    fill(r->cut_line = take(&place, at.line), outside, at.line);
    fill(r->joined_line = take(&place, at.line), 0, at.line);
    fill(r->phases = take(&place, at.slots * at.phases), 0, at.slots * at.phases);
    fill(r->values = take(&place, at.phases), outside, at.phases);
    r->maxima = take(&place, at.slots * at.windows);
    r->taps = take_integers(&place, at.slots * at.windows);
    r->first_taps = take_integers(&place, at.windows);
    r->columns = take(&place, at.windows);
    fill(r->result = take(&place, at.windows), 0, at.windows);
    r->winners = take_integers(&place, at.windows);
    for (int64_t c = 0; c < at.windows; c++) {
        const cse_pool2d_span span = cse_pool2d_span_of(kernel, 1, c);
        r->first_taps[c] = (int32_t)(span.first + kernel->padding[1] - c * kernel->stride[1]);
        r->columns[c] = (float)(c < kernel->pooled[1] ? span.end - span.first : 1);
    }
    for (int64_t j = 0; j < kernel->kernel[1]; j++)
        r->offsets[j] = j % kernel->stride[1] * at.phase + j / kernel->stride[1];
}

/* ---- phases ---- */

CSE_VECTOR_INLINE void cut_line(const rows *r, int64_t stride, float *phases)
{
    const layout *at = &r->at;
    for (int64_t q = 0; q * at->phase < at->phases; q++)
        for (int64_t i = 0; i < at->phase; i += LANES)
            for (int64_t lane = 0; lane < LANES; lane++)
                phases[q * at->phase + i + lane] = r->cut_line[(i + lane) * stride + q];
}

/* Row y of the plane in phases; what lies around it stays as it is. */
CSE_VECTOR_INLINE void cut(const rows *r, int64_t y, float *phases)
{
    const cse_pool2d *kernel = r->kernel;
    const float *row = r->plane->values + y * kernel->sizes[1];
    float *line = kernel->stride[1] == 1 ? phases : r->cut_line;
    memcpy(line + kernel->padding[1], row, (size_t)kernel->sizes[1] * sizeof *row);
    if (kernel->stride[1] == 2)
        cut_line(r, 2, phases);
    else if (kernel->stride[1] > 2)
        cut_line(r, kernel->stride[1], phases);
}

CSE_VECTOR_INLINE void join_line(const rows *r, int64_t stride, const float *phases)
{
    const layout *at = &r->at;
    for (int64_t i = 0; i < at->phase; i += LANES)
        for (int64_t q = 0; q * at->phase < at->phases; q++)
            for (int64_t lane = 0; lane < LANES; lane++)
                r->joined_line[(i + lane) * stride + q] = phases[q * at->phase + i + lane];
}

/* Stores the rows of the gradient before row `end`, and clears their slots. Rows that no window
 * reaches are 0. */
CSE_VECTOR_INLINE void store_gradient(rows *r, int64_t end)
{
    const cse_pool2d *kernel = r->kernel;
    const int64_t size = kernel->sizes[1];
    for (; r->written < end; r->written++) {
        float *row = r->plane->gradient + r->written * size;
        float *phases = r->phases + r->written % r->at.slots * r->at.phases;
        if (r->written >= r->next) {
            memset(row, 0, (size_t)size * sizeof *row);
            continue;
        }
        const float *line = kernel->stride[1] == 1 ? phases : r->joined_line;
        if (kernel->stride[1] == 2)
            join_line(r, 2, phases);
        else if (kernel->stride[1] > 2)
            join_line(r, kernel->stride[1], phases);
        memcpy(row, line + kernel->padding[1], (size_t)size * sizeof *row);
        memset(phases, 0, (size_t)r->at.phases * sizeof *phases);
    }
}

/* ---- maximum ---- */

CSE_VECTOR_INLINE void maxima_along(const rows *r, int64_t y)
{
    const float *taps = r->values;
    float *maxima = r->maxima + y % r->at.slots * r->at.windows;
    for (int64_t c = 0; c < r->at.windows; c += LANES) {
        lanes result = (lanes){ 0 } - INFINITY, x;
        for (int64_t j = 0; j < r->kernel->kernel[1]; j++) {
            load(&x, taps + r->offsets[j] + c);
            keep_later(&result, &x);
        }
        memcpy(maxima + c, &result, sizeof result);
    }
}

CSE_VECTOR_INLINE void first_maxima_along(const rows *r, int64_t y)
{
    const int64_t slot = y % r->at.slots * r->at.windows;
    for (int64_t c = 0; c < r->at.windows; c += LANES) {
        lanes largest = (lanes){ 0 } - INFINITY, x;
        integers winner;
        load_integers(&winner, r->first_taps + c);
        for (int64_t j = 0; j < r->kernel->kernel[1]; j++) {
            const integers number = (integers){ 0 } + (int32_t)j;
            load(&x, r->values + r->offsets[j] + c);
            keep_first(&largest, &winner, &x, &number);
        }
        memcpy(r->maxima + slot + c, &largest, sizeof largest);
        memcpy(r->taps + slot + c, &winner, sizeof winner);
    }
}

/* The maxima over the rows of one row of windows. */
CSE_VECTOR_INLINE void maxima_across(const rows *r, cse_pool2d_span span)
{
    for (int64_t c = 0; c < r->at.windows; c += LANES) {
        lanes result = (lanes){ 0 } - INFINITY, x;
        for (int64_t y = span.first; y < span.end; y++) {
            load(&x, r->maxima + y % r->at.slots * r->at.windows + c);
            keep_later(&result, &x);
        }
        memcpy(r->result + c, &result, sizeof result);
    }
}

CSE_VECTOR_INLINE void first_maxima_across(const rows *r, cse_pool2d_span span)
{
    const int32_t taps = (int32_t)r->kernel->kernel[1];
    for (int64_t c = 0; c < r->at.windows; c += LANES) {
        int64_t slot = span.first % r->at.slots * r->at.windows + c;
        lanes largest, x;
        integers winner, number;
        load(&largest, r->maxima + slot);
        load_integers(&winner, r->taps + slot);
        for (int64_t y = span.first + 1; y < span.end; y++) {
            slot = y % r->at.slots * r->at.windows + c;
            load(&x, r->maxima + slot);
            load_integers(&number, r->taps + slot);
            number += (int32_t)(y - span.first) * taps;
            keep_first(&largest, &winner, &x, &number);
        }
        memcpy(r->winners + c, &winner, sizeof winner);
    }
}

/* Adds the shares of the windows whose maximum is tap j of row y, the `number`-th of the window. */
CSE_VECTOR_INLINE void add_where(const rows *r, float *sums, int32_t number)
{
    for (int64_t c = 0; c < r->at.windows; c += LANES) {
        lanes sum, share;
        integers winner;
        load(&sum, sums + c);
        load(&share, r->result + c);
        load_integers(&winner, r->winners + c);
        sum += (lanes)((integers)share & (winner == number));
        memcpy(sums + c, &sum, sizeof sum);
    }
}

CSE_VECTOR_CLONES(void, pool_maxima, (rows * r), (r))
{
    const cse_pool2d *kernel = r->kernel;
    for (int64_t row = 0; row < kernel->pooled[0]; row++) {
        const cse_pool2d_span span = cse_pool2d_span_of(kernel, 0, row);
        for (r->next = r->next > span.first ? r->next : span.first; r->next < span.end; r->next++) {
            cut(r, r->next, r->values);
            maxima_along(r, r->next);
        }
        maxima_across(r, span);
        memcpy(r->plane->pooled + row * kernel->pooled[1], r->result,
               (size_t)kernel->pooled[1] * sizeof(float));
    }
}

CSE_VECTOR_CLONES(void, give_to_maxima, (rows * r), (r))
{
    const cse_pool2d *kernel = r->kernel;
    const int64_t taps = kernel->kernel[1];
    for (int64_t row = 0; row < kernel->pooled[0]; row++) {
        const cse_pool2d_span span = cse_pool2d_span_of(kernel, 0, row);
        store_gradient(r, span.first);
        for (r->next = r->next > span.first ? r->next : span.first; r->next < span.end; r->next++) {
            cut(r, r->next, r->values);
            first_maxima_along(r, r->next);
        }
        first_maxima_across(r, span);
        memcpy(r->result, r->plane->pooled + row * kernel->pooled[1],
               (size_t)kernel->pooled[1] * sizeof(float));
        for (int64_t y = span.first; y < span.end; y++)
            for (int64_t j = taps - 1; j >= 0; j--)
                add_where(r, r->phases + y % r->at.slots * r->at.phases + r->offsets[j],
                          (int32_t)((y - span.first) * taps + j));
    }
    store_gradient(r, kernel->sizes[0]);
}

/* ---- average ---- */

/* What the averages of a row of windows with `height` rows outside the padding are divided by. */
CSE_VECTOR_INLINE void load_divisors(const rows *r, int64_t height, int64_t c, lanes *divisors)
{
    const cse_pool2d *kernel = r->kernel;
    load(divisors, r->columns + c);
    *divisors *= (float)height;
    if (kernel->count_padding)
        *divisors = (lanes){ 0 } + (float)(kernel->kernel[0] * kernel->kernel[1]);
}

CSE_VECTOR_INLINE void averages(const rows *r, cse_pool2d_span span)
{
    for (int64_t c = 0; c < r->at.windows; c += LANES) {
        lanes sum = { 0 }, x, divisors;
        for (int64_t y = span.first; y < span.end; y++)
            for (int64_t j = 0; j < r->kernel->kernel[1]; j++) {
                load(&x, r->phases + y % r->at.slots * r->at.phases + r->offsets[j] + c);
                sum += x;
            }
        load_divisors(r, span.end - span.first, c, &divisors);
        sum /= divisors;
        memcpy(r->result + c, &sum, sizeof sum);
    }
}

CSE_VECTOR_INLINE void shares(const rows *r, cse_pool2d_span span)
{
    for (int64_t c = 0; c < r->at.windows; c += LANES) {
        lanes share, divisors;
        load(&share, r->result + c);
        load_divisors(r, span.end - span.first, c, &divisors);
        share /= divisors;
        memcpy(r->result + c, &share, sizeof share);
    }
}

CSE_VECTOR_INLINE void add_shares(const rows *r, float *sums)
{
    for (int64_t c = 0; c < r->at.windows; c += LANES) {
        lanes sum, share;
        load(&sum, sums + c);
        load(&share, r->result + c);
        sum += share;
        memcpy(sums + c, &sum, sizeof sum);
    }
}

CSE_VECTOR_CLONES(void, pool_averages, (rows * r), (r))
{
    const cse_pool2d *kernel = r->kernel;
    for (int64_t row = 0; row < kernel->pooled[0]; row++) {
        const cse_pool2d_span span = cse_pool2d_span_of(kernel, 0, row);
        for (r->next = r->next > span.first ? r->next : span.first; r->next < span.end; r->next++)
            cut(r, r->next, r->phases + r->next % r->at.slots * r->at.phases);
        averages(r, span);
        memcpy(r->plane->pooled + row * kernel->pooled[1], r->result,
               (size_t)kernel->pooled[1] * sizeof(float));
    }
}

CSE_VECTOR_CLONES(void, give_to_all, (rows * r), (r))
{
    const cse_pool2d *kernel = r->kernel;
    for (int64_t row = 0; row < kernel->pooled[0]; row++) {
        const cse_pool2d_span span = cse_pool2d_span_of(kernel, 0, row);
        store_gradient(r, span.first);
        r->next = r->next > span.end ? r->next : span.end;
        memcpy(r->result, r->plane->pooled + row * kernel->pooled[1],
               (size_t)kernel->pooled[1] * sizeof(float));
        shares(r, span);
        for (int64_t y = span.first; y < span.end; y++)
            for (int64_t j = kernel->kernel[1] - 1; j >= 0; j--)
                add_shares(r, r->phases + y % r->at.slots * r->at.phases + r->offsets[j]);
    }
    store_gradient(r, kernel->sizes[0]);
}

static void run(const cse_pool2d *kernel, const cse_pool2d_plane *plane)
{
    rows r;
    begin(kernel, plane, &r);
    if (kernel->gradient)
        (kernel->maximum ? give_to_maxima : give_to_all)(&r);
    else
        (kernel->maximum ? pool_maxima : pool_averages)(&r);
}

static bool fits(const cse_pool2d *kernel)
{
    return kernel->kernel[0] <= MOST_TAPS && kernel->kernel[1] <= MOST_TAPS &&
           kernel->pooled[1] >= FEWEST_WINDOWS && kernel->sizes[0] > 0 && kernel->sizes[1] > 0;
}

const cse_pool2d_way cse_pool2d_rows = {
    .name = "rows", .fits = fits, .scratch_bytes = scratch_bytes, .run = run
};

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
#include "engine/code/kernels/pool2d.h"

enum { LANES = 16, MOST_TAPS = 32, FEWEST_WINDOWS = 4 };

/* Sums that stay in registers. Only added to: comparisons of such vectors become slow code where
 * the processor's vectors are as long. */
typedef float lanes __attribute__((vector_size(LANES * sizeof(float))));

/* Lengths in floats, multiples of LANES. */
typedef struct layout {
    int64_t windows; /* of a row */
    int64_t phase, phases;
    int64_t line;  /* a row with its padding */
    int64_t slots; /* of the ring */
    int64_t front; /* zeros before the shares of a row of windows */
} layout;

/* The number of a tap in its window, and the windows of a row. */
typedef struct window_numbers {
    int32_t first;
    int64_t count;
} window_numbers;

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
    float *divisors;     /* of each window of the row */
    float *result;       /* of a row of windows; or the gradient's share of each */
    int32_t *winners;    /* of a row of windows: row in the window * taps of a row + tap */
    int64_t next;        /* rows that are in the ring, or were */
    int64_t written;     /* rows of the gradient that are stored */
} rows;

/* ---- operations on rows of windows ----
 *
 * `count` is a multiple of LANES. The inner loops have a known length and their operands are
 * copied, so that the compiler makes vectors of them without asking whether rows overlap. */

CSE_VECTOR_INLINE void keep_later(float *result, const float *x, int64_t count)
{
    float r[LANES], b[LANES];
    for (int64_t c = 0; c < count; c += LANES) {
        memcpy(r, result + c, sizeof r);
        memcpy(b, x + c, sizeof b);
        for (int i = 0; i < LANES; i++)
            r[i] = cse_pool2d_later(r[i], b[i]);
        memcpy(result + c, r, sizeof r);
    }
}

/* Keeps the first maxima and their numbers. Those of x are numbers[c] + more, or just `more`. */
CSE_VECTOR_INLINE void keep_first(float *largest, int32_t *winners, const float *x,
                                  const int32_t *numbers, window_numbers more)
{
    float r[LANES], b[LANES];
    int32_t w[LANES], n[LANES] = { 0 };
    for (int64_t c = 0; c < more.count; c += LANES) {
        memcpy(r, largest + c, sizeof r);
        memcpy(b, x + c, sizeof b);
        memcpy(w, winners + c, sizeof w);
        if (numbers != NULL)
            memcpy(n, numbers + c, sizeof n);
        for (int i = 0; i < LANES; i++) {
            const bool takes = cse_pool2d_takes(r[i], b[i]);
            w[i] = takes ? n[i] + more.first : w[i];
            r[i] = takes ? b[i] : r[i];
        }
        memcpy(largest + c, r, sizeof r);
        memcpy(winners + c, w, sizeof w);
    }
}

CSE_VECTOR_INLINE void divide(float *result, const float *divisors, int64_t count)
{
    float r[LANES], b[LANES];
    for (int64_t c = 0; c < count; c += LANES) {
        memcpy(r, result + c, sizeof r);
        memcpy(b, divisors + c, sizeof b);
        for (int i = 0; i < LANES; i++)
            r[i] /= b[i];
        memcpy(result + c, r, sizeof r);
    }
}

CSE_VECTOR_INLINE void fill(float *values, float with, int64_t count)
{
    for (int64_t c = 0; c < count; c += LANES)
        for (int i = 0; i < LANES; i++)
            values[c + i] = with;
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
    at.front = whole_lanes((taps - 1) / stride);
    at.slots = kernel->kernel[0] < kernel->sizes[0] ? kernel->kernel[0] : kernel->sizes[0];
    return at;
}

static size_t scratch_bytes(const cse_pool2d *kernel)
{
    const layout at = layout_of(kernel);
    const int64_t lines = 2 * at.line, ring = at.slots * (at.phases + 2 * at.windows);
    const int64_t row = at.phases + 3 * at.windows + 2 * (at.front + at.phase);
    const int64_t floats = lines + ring + row;
    return (size_t)floats * sizeof(float);
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
    r->divisors = take(&place, at.windows);
    const int64_t shares = at.front + at.phase;
    fill(r->result = take(&place, shares), 0, shares);
    r->winners = take_integers(&place, shares);
    memset(r->winners, 0, (size_t)shares * sizeof *r->winners);
    r->result += at.front;
    r->winners += at.front;
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
    float taken[LANES];
    for (int64_t q = 0; q * at->phase < at->phases; q++)
        for (int64_t i = 0; i < at->phase; i += LANES) {
            const float *line = r->cut_line + i * stride + q;
            for (int64_t lane = 0; lane < LANES; lane++)
                taken[lane] = line[lane * stride];
            memcpy(phases + q * at->phase + i, taken, sizeof taken);
        }
}

/* The usual stride: both phases at once. */
CSE_VECTOR_INLINE void cut_pairs(const rows *r, float *phases)
{
    const int64_t phase = r->at.phase;
    float even[LANES], odd[LANES], both[2 * LANES];
    for (int64_t i = 0; i < phase; i += LANES) {
        memcpy(both, r->cut_line + 2 * i, sizeof both);
        for (int64_t lane = 0; lane < LANES; lane++) {
            even[lane] = both[2 * lane];
            odd[lane] = both[2 * lane + 1];
        }
        memcpy(phases + i, even, sizeof even);
        if (r->at.phases > phase)
            memcpy(phases + phase + i, odd, sizeof odd);
    }
}

/* Row y of the plane in phases; what lies around it stays as it is. */
CSE_VECTOR_INLINE void cut(const rows *r, int64_t y, float *phases)
{
    const cse_pool2d *kernel = r->kernel;
    const float *row = r->plane->values + y * kernel->sizes[1];
    float *line = kernel->stride[1] == 1 ? phases : r->cut_line;
    memcpy(line + kernel->padding[1], row, (size_t)kernel->sizes[1] * sizeof *row);
    if (kernel->stride[1] == 2)
        cut_pairs(r, phases);
    else if (kernel->stride[1] > 2)
        cut_line(r, kernel->stride[1], phases);
}

/* Phases that no window reaches stay 0. */
CSE_VECTOR_INLINE void join_line(const rows *r, int64_t stride, const float *phases)
{
    const layout *at = &r->at;
    float taken[LANES];
    for (int64_t q = 0; q * at->phase < at->phases; q++)
        for (int64_t i = 0; i < at->phase; i += LANES) {
            float *line = r->joined_line + i * stride + q;
            memcpy(taken, phases + q * at->phase + i, sizeof taken);
            for (int64_t lane = 0; lane < LANES; lane++)
                line[lane * stride] = taken[lane];
        }
}

CSE_VECTOR_INLINE void join_pairs(const rows *r, const float *phases)
{
    const int64_t phase = r->at.phase;
    float even[LANES], odd[LANES] = { 0 }, both[2 * LANES];
    for (int64_t i = 0; i < phase; i += LANES) {
        memcpy(even, phases + i, sizeof even);
        if (r->at.phases > phase)
            memcpy(odd, phases + phase + i, sizeof odd);
        for (int64_t lane = 0; lane < LANES; lane++) {
            both[2 * lane] = even[lane];
            both[2 * lane + 1] = odd[lane];
        }
        memcpy(r->joined_line + 2 * i, both, sizeof both);
    }
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
            join_pairs(r, phases);
        else if (kernel->stride[1] > 2)
            join_line(r, kernel->stride[1], phases);
        memcpy(row, line + kernel->padding[1], (size_t)size * sizeof *row);
        memset(phases, 0, (size_t)r->at.phases * sizeof *phases);
    }
}

/* ---- maximum ---- */

CSE_VECTOR_INLINE void maxima_along(const rows *r, int64_t y)
{
    float *maxima = r->maxima + y % r->at.slots * r->at.windows;
    fill(maxima, -INFINITY, r->at.windows);
    for (int64_t j = 0; j < r->kernel->kernel[1]; j++)
        keep_later(maxima, r->values + r->offsets[j], r->at.windows);
}

CSE_VECTOR_INLINE void first_maxima_along(const rows *r, int64_t y)
{
    const int64_t slot = y % r->at.slots * r->at.windows;
    fill(r->maxima + slot, -INFINITY, r->at.windows);
    memcpy(r->taps + slot, r->first_taps, (size_t)r->at.windows * sizeof *r->taps);
    for (int64_t j = 0; j < r->kernel->kernel[1]; j++)
        keep_first(r->maxima + slot, r->taps + slot, r->values + r->offsets[j], NULL,
                   (window_numbers){ (int32_t)j, r->at.windows });
}

/* The maxima over the rows of one row of windows. */
CSE_VECTOR_INLINE void maxima_across(const rows *r, cse_pool2d_span span)
{
    fill(r->result, -INFINITY, r->at.windows);
    for (int64_t y = span.first; y < span.end; y++)
        keep_later(r->result, r->maxima + y % r->at.slots * r->at.windows, r->at.windows);
}

/* The winners of one row of windows; `result` has their values for now. */
CSE_VECTOR_INLINE void first_maxima_across(const rows *r, cse_pool2d_span span)
{
    const int32_t taps = (int32_t)r->kernel->kernel[1];
    int64_t slot = span.first % r->at.slots * r->at.windows;
    memcpy(r->result, r->maxima + slot, (size_t)r->at.windows * sizeof *r->result);
    memcpy(r->winners, r->taps + slot, (size_t)r->at.windows * sizeof *r->winners);
    for (int64_t y = span.first + 1; y < span.end; y++) {
        slot = y % r->at.slots * r->at.windows;
        keep_first(r->result, r->winners, r->maxima + slot, r->taps + slot,
                   (window_numbers){ (int32_t)(y - span.first) * taps, r->at.windows });
    }
}

/* The pooled gradient of a row of windows; 0 behind its end. */
CSE_VECTOR_INLINE void load_shares(const rows *r, int64_t row)
{
    const int64_t count = r->kernel->pooled[1];
    memcpy(r->result, r->plane->pooled + row * count, (size_t)count * sizeof *r->result);
    for (int64_t c = count; c < r->at.windows; c++)
        r->result[c] = 0;
}

/* Adds the shares of one row of windows to the gradient of row y, the `down`-th row of the windows:
 * to each element those of its windows in their order, which is that of the taps from the last. */
CSE_VECTOR_INLINE void give(const rows *r, int64_t y, int64_t down)
{
    const int64_t taps = r->kernel->kernel[1], stride = r->kernel->stride[1];
    const bool maximum = r->kernel->maximum;
    float shares[LANES];
    int32_t winners[LANES];
    lanes sums, chosen;
    for (int64_t q = 0; q < stride && q < taps; q++) {
        float *phase = r->phases + y % r->at.slots * r->at.phases + q * r->at.phase;
        const int64_t last = q + (taps - 1 - q) / stride * stride;
        for (int64_t i = 0; i < r->at.phase; i += LANES) {
            memcpy(&sums, phase + i, sizeof sums);
            for (int64_t j = last, from = i - last / stride; j >= 0; j -= stride, from++) {
                const int32_t number = (int32_t)(down * taps + j);
                memcpy(shares, r->result + from, sizeof shares);
                memcpy(winners, r->winners + from, sizeof winners);
                for (int lane = 0; lane < LANES; lane++)
                    shares[lane] = !maximum || winners[lane] == number ? shares[lane] : 0.0f;
                memcpy(&chosen, shares, sizeof chosen);
                sums += chosen;
            }
            memcpy(phase + i, &sums, sizeof sums);
        }
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
    for (int64_t row = 0; row < kernel->pooled[0]; row++) {
        const cse_pool2d_span span = cse_pool2d_span_of(kernel, 0, row);
        store_gradient(r, span.first);
        for (r->next = r->next > span.first ? r->next : span.first; r->next < span.end; r->next++) {
            cut(r, r->next, r->values);
            first_maxima_along(r, r->next);
        }
        first_maxima_across(r, span);
        load_shares(r, row);
        for (int64_t y = span.first; y < span.end; y++)
            give(r, y, y - span.first);
    }
    store_gradient(r, kernel->sizes[0]);
}

/* ---- average ---- */

/* Divides by the elements of each window, of which `height` rows are outside the padding. */
CSE_VECTOR_INLINE void divide_by_sizes(const rows *r, int64_t height)
{
    const cse_pool2d *kernel = r->kernel;
    const float all = (float)(kernel->kernel[0] * kernel->kernel[1]);
    for (int64_t c = 0; c < r->at.windows; c++)
        r->divisors[c] = kernel->count_padding ? all : (float)height * r->columns[c];
    divide(r->result, r->divisors, r->at.windows);
}

CSE_VECTOR_INLINE void averages(const rows *r, cse_pool2d_span span)
{
    for (int64_t c = 0; c < r->at.windows; c += LANES) {
        lanes sums = { 0 }, x;
        for (int64_t y = span.first; y < span.end; y++)
            for (int64_t j = 0; j < r->kernel->kernel[1]; j++) {
                memcpy(&x, r->phases + y % r->at.slots * r->at.phases + r->offsets[j] + c,
                       sizeof x);
                sums += x;
            }
        memcpy(r->result + c, &sums, sizeof sums);
    }
    divide_by_sizes(r, span.end - span.first);
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
        load_shares(r, row);
        divide_by_sizes(r, span.end - span.first);
        for (int64_t y = span.first; y < span.end; y++)
            give(r, y, y - span.first);
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

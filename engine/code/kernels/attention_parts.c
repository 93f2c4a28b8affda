/* Operands and products of the attention kernels; see attention_parts.h. */
#include "engine/code/kernels/attention_parts.h"

#include <string.h>

enum { LANES = 16, ROWS = CSE_ATTENTION_TURNED_COLUMNS, PANEL = CSE_ATTENTION_KEPT_COLUMNS };

int64_t cse_attention_filled_up(const cse_attention_kernel *kernel, int64_t size)
{
    return cse_attention_round_up(size, cse_attention_by_pairs(kernel) ? CSE_ATTENTION_STEPS
                                        : kernel->paired               ? 2
                                                                       : 1);
}

int64_t cse_attention_words_of(const cse_attention_kernel *kernel, int64_t size)
{
    return cse_attention_filled_up(kernel, size) / (kernel->paired ? 2 : 1);
}

int64_t cse_attention_stride_of(int64_t columns)
{
    return cse_attention_round_up(columns, 2 * LANES) + LANES;
}

/* ---- operands ---- */

cse_attention_matrix cse_attention_head_of(const cse_attention_kernel *kernel,
                                           cse_attention_matrix whole, const int64_t place[2])
{
    const int64_t heads = kernel->sizes.heads;
    const int64_t at = (place[0] * whole.rows * heads + place[1]) * whole.columns;
    whole.values = (const char *)whole.values + at * (int64_t)cse_dtype_size(whole.dtype);
    whole.stride = heads * whole.columns;
    return whole;
}

const char *cse_attention_row_at(const cse_attention_matrix *m, int64_t row)
{
    return (const char *)m->values + row * m->stride * (int64_t)cse_dtype_size(m->dtype);
}

void cse_attention_pack_rows(const cse_attention_kernel *kernel, const cse_attention_matrix *m,
                             int64_t first, int64_t count, float *to)
{
    const size_t bytes = (size_t)m->columns * cse_dtype_size(m->dtype);
    const size_t depth_bytes = (size_t)cse_attention_words_of(kernel, m->columns) * sizeof *to;
    enum { USUAL = 128 }; /* bytes: 64 columns of bfloat16 */
    if (bytes == USUAL && depth_bytes == USUAL) {
        const char *from = cse_attention_row_at(m, first);
        const int64_t stride = m->stride * (int64_t)cse_dtype_size(m->dtype);
        for (int64_t row = 0; row < count; row++)
            memcpy((char *)to + row * USUAL, from + row * stride, USUAL);
        return;
    }
    for (int64_t row = 0; row < count; row++) {
        char *place = (char *)to + (size_t)row * depth_bytes;
        memcpy(place, cse_attention_row_at(m, first + row), bytes);
        if (bytes < depth_bytes)
            memset(place + bytes, 0, depth_bytes - bytes);
    }
}

void cse_attention_prefetch_rows(const cse_attention_matrix *m, int64_t first, int64_t end,
                                 bool write)
{
    const int64_t bytes = m->columns * (int64_t)cse_dtype_size(m->dtype);
    for (int64_t row = first; row < end && row < m->rows; row++) {
        const char *start = cse_attention_row_at(m, row);
        for (int64_t at = 0; at < bytes; at += 64) {
            if (write)
                __builtin_prefetch(start + at, 1, 2);
            else
                __builtin_prefetch(start + at, 0, 2);
        }
    }
}

/* Columns of a panel of a kept matrix that begins with `column`. */
static int64_t panel_width(int64_t columns, int64_t column)
{
    return columns - column < PANEL ? cse_attention_round_up(columns - column, LANES) : PANEL;
}

/* The first word, or the first pair, of rows [rows[0], rows[1]), of columns [columns[0],
 * columns[1]). */
static void pack_words(const cse_attention_kernel *kernel, const cse_attention_matrix *m,
                       const int64_t rows[2], const int64_t columns[2], float *to)
{
    static const uint16_t nothing[PANEL];
    const int64_t row = rows[0], end = rows[1], column = columns[0], used = columns[1] - column;
    const size_t bytes = (size_t)used * sizeof *to;
    if (row >= end)
        memset(to, 0, bytes);
    else if (m->dtype == CSE_FLOAT32)
        memcpy(to, (const float *)(const void *)cse_attention_row_at(m, row) + column, bytes);
    else
        kernel->way->interleave(
            (const uint16_t *)(const void *)cse_attention_row_at(m, row) + column,
            row + 1 < end
                ? (const uint16_t *)(const void *)cse_attention_row_at(m, row + 1) + column
                : nothing,
            used, (uint32_t *)(void *)to);
}

void cse_attention_pack_kept(const cse_attention_kernel *kernel, const cse_attention_matrix *m,
                             int64_t first, int64_t count, float *to)
{
    const int64_t per_word = m->dtype == CSE_FLOAT32 ? 1 : 2,
                  filled = cse_attention_filled_up(kernel, count);
    for (int64_t column = 0; column < m->columns; column += PANEL) {
        const int64_t width = panel_width(m->columns, column);
        const int64_t used = m->columns - column < width ? m->columns - column : width;
        for (int64_t row = 0; row < filled; row += per_word, to += width) {
            const int64_t rows[2] = { first + row, first + count },
                          columns[2] = { column, column + used };
            pack_words(kernel, m, rows, columns, to);
            if (used < width)
                memset(to + used, 0, (size_t)(width - used) * sizeof *to);
        }
    }
}

int64_t cse_attention_kept_floats(const cse_attention_kernel *kernel, int64_t rows, int64_t columns)
{
    return cse_attention_words_of(kernel, rows) * cse_attention_round_up(columns, LANES);
}

int64_t cse_attention_turned_floats(const cse_attention_kernel *kernel, int64_t rows,
                                    int64_t columns)
{
    return cse_attention_words_of(kernel, columns) * cse_attention_round_up(rows, ROWS);
}

float *cse_attention_take(cse_attention_allotment *from, int64_t floats)
{
    float *place = from->start != NULL ? from->start + from->floats : NULL;
    from->floats += cse_attention_round_up(floats, LANES);
    return place;
}

cse_packed_spans cse_attention_lay_out_spans(const cse_attention_kernel *kernel,
                                             cse_attention_allotment *from)
{
    const int64_t floats =
        cse_attention_has_spans(kernel) ? cse_attention_round_up(kernel->sizes.keys, ROWS) : 0;
    int32_t *begins = floats > 0 ? (int32_t *)(void *)cse_attention_take(from, floats) : NULL;
    return (cse_packed_spans){ begins, floats > 0
                                           ? (int32_t *)(void *)cse_attention_take(from, floats)
                                           : NULL };
}

void cse_attention_pack_spans(const cse_attention_kernel *kernel, const int32_t *spans,
                              const cse_packed_spans *to)
{
    if (cse_attention_has_spans(kernel))
        cse_spans_pack(spans, kernel->sizes.keys, to);
}

cse_attention_operands cse_attention_operands_of(const cse_attention_kernel *kernel,
                                                 const void *const inputs[], int64_t number)
{
    const cse_attention_sizes *s = &kernel->sizes;
    const int *at = kernel->operands;
    const int64_t place[2] = { number / s->heads, number % s->heads };
    const void *q = inputs[at[CSE_ATTENTION_QUERY]], *k = inputs[at[CSE_ATTENTION_KEY]],
               *v = inputs[at[CSE_ATTENTION_VALUE]];
    const cse_dtype dtype = kernel->dtype;
    return (cse_attention_operands){
        .queries = cse_attention_head_of(
            kernel, (cse_attention_matrix){ q, dtype, 0, s->queries, s->head }, place),
        .keys = cse_attention_head_of(
            kernel, (cse_attention_matrix){ k, dtype, 0, s->keys, s->head }, place),
        .values = cse_attention_head_of(
            kernel, (cse_attention_matrix){ v, dtype, 0, s->keys, s->value }, place),
        .spans = cse_attention_has_spans(kernel)
                     ? (const int32_t *)inputs[kernel->spans] + place[0] * kernel->spans_stride
                     : NULL,
        .place = { place[0], place[1] },
    };
}

void cse_attention_begin_way(const cse_attention_kernel *kernel)
{
    if (kernel->way->begin != NULL)
        kernel->way->begin();
}

void cse_attention_end_way(const cse_attention_kernel *kernel)
{
    if (kernel->way->end != NULL)
        kernel->way->end();
}

/* ---- products ---- */

void cse_attention_multiply_turned(const cse_attention_kernel *kernel,
                                   const cse_attention_turned_product *t)
{
    for (int64_t column = t->first; column < t->end; column += ROWS)
        kernel->way->multiply(&(cse_attention_product){ .from = t->rows,
                                                        .row_stride = t->depth,
                                                        .depth_stride = 1,
                                                        .rows = t->row_count,
                                                        .panel = t->turned + column * t->depth,
                                                        .depth = t->depth,
                                                        .width = ROWS,
                                                        .to = t->to + (column - t->first),
                                                        .to_stride = t->stride,
                                                        .first = true });
}

void cse_attention_multiply_kept(const cse_attention_kernel *kernel, cse_attention_product product,
                                 int64_t columns, int64_t panel_depth, int64_t first)
{
    const float *panel = product.panel;
    for (int64_t column = 0; column < columns; column += PANEL) {
        product.width = panel_width(columns, column);
        product.panel = panel + first * product.width;
        kernel->way->multiply(&product);
        product.to += product.width;
        panel += panel_depth * product.width;
    }
}

/* The last weight that was made as a whole for a part of it is kept, since the others follow. One
 * that is asked for whole is made where it goes. */
#include "engine/formats/weights/map_reading.h"

#include <stdlib.h>
#include <string.h>

#include "engine/formats/weights/map_rows.h"

/* ---- elements ---- */

/* Heads whose rows are rotated; of a fused weight those of queries and keys are. */
static int64_t rotated_heads(const cse_made_weight *m, int part)
{
    if (!m->rule->is_fused)
        return m->heads;
    return m->rule->rotary != NULL && part < 2 ? cse_fused_heads_of(&m->fused, part) : 0;
}

/* Permutes the rows of a weight of ours, a part of theirs, which are in another order. */
static void arrange_rows(const cse_made_weight *m, int part, cse_map_rows rows, bool back)
{
    rows.heads = rotated_heads(m, part);
    rows.rotated = m->rotated;
    rows.is_rolled = m->rule->roll;
    cse_map_arrange(&rows, back);
}

static void arrange(const cse_made_weight *m, int part, const cse_weight *ours,
                    unsigned char *elements, bool back)
{
    const int64_t rows = ours->shape.rank > 0 ? ours->shape.dims[0] : 0;
    const size_t row_bytes = rows > 0 ? (size_t)(cse_weight_bytes(ours) / (uint64_t)rows) : 0;
    arrange_rows(m, part, (cse_map_rows){ .rows = elements, .count = rows, .row_bytes = row_bytes },
                 back);
}

/* The rows of a part of a fused weight, each head where it lies in the file. */
static cse_status read_fused(const cse_weight_mapping *self, const cse_made_weight *m,
                             const cse_weight *theirs, unsigned char *to)
{
    const size_t bytes = (size_t)(cse_weight_bytes(theirs) / (uint64_t)theirs->shape.dims[0] *
                                  (uint64_t)m->fused.head);
    cse_status status = CSE_OK;
    for (int64_t i = 0; i < cse_fused_heads_of(&m->fused, m->part) && status == CSE_OK; i++)
        status = cse_weights_read(self->from, m->sources[0],
                                  (uint64_t)cse_fused_place(&m->fused, m->part, i) * bytes, bytes,
                                  to + (size_t)i * bytes);
    return status;
}

/* Some rows of theirs from one column on, in a block of `columns` columns. */
static cse_status read_band(const cse_weight_mapping *self, int source, const int64_t place[2],
                            const int64_t sizes[2], unsigned char *to)
{
    const cse_weight *theirs = &self->from->list[source];
    const int64_t all = theirs->shape.dims[1];
    const size_t width = cse_element_bytes(theirs->element), row = (size_t)sizes[1] * width;
    if (sizes[1] == all)
        return cse_weights_read(self->from, source, (uint64_t)(place[0] * all) * width,
                                (size_t)sizes[0] * row, to);
    for (int64_t r = 0; r < sizes[0]; r++)
        CSE_TRY(cse_weights_read(self->from, source,
                                 (uint64_t)((place[0] + r) * all + place[1]) * width, row,
                                 to + (size_t)r * row));
    return CSE_OK;
}

/* Columns of theirs are the rows of a part of ours. Bands of their rows stay in the cache from
 * where they are read to where they are turned. */
static cse_status turn_part(const cse_weight_mapping *self, const cse_made_weight *m,
                            unsigned char *to)
{
    enum { BAND_BYTES = 1 << 19, LINE_ROWS = 16 };
    const cse_weight *theirs = &self->from->list[m->sources[0]];
    const size_t width = cse_element_bytes(theirs->element);
    const int64_t rows = theirs->shape.dims[0], columns = theirs->shape.dims[1] / m->rule->parts;
    const int64_t fit = BAND_BYTES / (columns * (int64_t)width + 1) / LINE_ROWS * LINE_ROWS;
    const int64_t band = fit > LINE_ROWS ? fit : LINE_ROWS;
    unsigned char *block = cse_malloc((size_t)(band * columns) * width + 1);
    cse_status status = CSE_OK;
    for (int64_t r = 0; r < rows && status == CSE_OK; r += band) {
        const int64_t sizes[2] = { rows - r < band ? rows - r : band, columns };
        status =
            read_band(self, m->sources[0], (const int64_t[]){ r, m->part * columns }, sizes, block);
        if (status == CSE_OK)
            cse_map_transpose_into(block, sizes, width, rows, to + (size_t)r * width);
    }
    free(block);
    return status;
}

/* Heads of theirs, which stand in its columns. */
static cse_status turn_fused(const cse_weight_mapping *self, const cse_made_weight *m,
                             unsigned char *to)
{
    const cse_weight *theirs = &self->from->list[m->sources[0]];
    const size_t bytes = (size_t)cse_weight_bytes(theirs);
    const size_t width = cse_element_bytes(theirs->element);
    const int64_t rows = theirs->shape.dims[0], columns = theirs->shape.dims[1];
    unsigned char *whole = cse_malloc(bytes + 1), *turned = cse_malloc(bytes + 1);
    const cse_status status = cse_weights_read(self->from, m->sources[0], 0, bytes, whole);
    if (status == CSE_OK) {
        cse_map_transpose(whole, rows, columns, width, turned);
        cse_fused_split(&m->fused, m->part, (size_t)rows * width, turned, to);
    }
    free(turned);
    free(whole);
    return status;
}

static cse_status make_ours(const cse_weight_mapping *self, const cse_made_weight *m,
                            const cse_weight *ours, unsigned char *to)
{
    const cse_weight *theirs = &self->from->list[m->sources[0]];
    const size_t part = (size_t)cse_weight_bytes(ours);
    if (m->rule->transpose)
        CSE_TRY(m->rule->is_fused ? turn_fused(self, m, to) : turn_part(self, m, to));
    else
        CSE_TRY(m->rule->is_fused ? read_fused(self, m, theirs, to)
                                  : cse_weights_read(self->from, m->sources[0],
                                                     (uint64_t)m->part * part, part, to));
    arrange(m, m->part, ours, to, false);
    return CSE_OK;
}

static cse_status make_theirs(const cse_weight_mapping *self, const cse_made_weight *m,
                              const cse_weight *theirs, unsigned char *to)
{
    const size_t bytes = (size_t)cse_weight_bytes(theirs);
    const size_t width = cse_element_bytes(theirs->element);
    unsigned char *joined = m->rule->transpose ? cse_malloc(bytes + 1) : to;
    unsigned char *parts = m->rule->is_fused ? cse_malloc(bytes + 1) : joined;
    cse_status status = CSE_OK;
    size_t at = 0;
    for (int p = 0; p < m->rule->parts && status == CSE_OK; p++) {
        const cse_weight *ours = &self->from->list[m->sources[p]];
        const size_t part = (size_t)cse_weight_bytes(ours);
        status = cse_weights_read(self->from, m->sources[p], 0, part, parts + at);
        if (status == CSE_OK)
            arrange(m, p, ours, parts + at, true);
        if (status == CSE_OK && m->rule->is_fused)
            cse_fused_join(&m->fused, p, part / (size_t)ours->shape.dims[0], parts + at, joined);
        at += part;
    }
    if (parts != joined)
        free(parts);
    if (status == CSE_OK && m->rule->transpose)
        cse_map_transpose(joined, theirs->shape.dims[1], theirs->shape.dims[0], width, to);
    if (joined != to)
        free(joined);
    return status;
}

/* A weight that is another one here by a number, as float32. */
static cse_status make_shifted(const cse_weight_mapping *self, const cse_made_weight *m,
                               const cse_weight *weight, unsigned char *to)
{
    float *values = (float *)(void *)to;
    const size_t count = (size_t)cse_weight_bytes(weight) / sizeof *values;
    const float more = (float)(self->to_theirs ? m->rule->plus : -m->rule->plus);
    CSE_TRY(cse_weights_read_as(self->from, m->sources[0], CSE_ELEMENT_F32, values));
    for (size_t i = 0; i < count; i++)
        values[i] += more;
    arrange(m, 0, weight, to, self->to_theirs);
    return CSE_OK;
}

/* Where a matrix of a stack of ours begins in its source. */
static uint64_t place_of(const cse_made_weight *m, int64_t matrix, uint64_t bytes)
{
    const uint64_t before =
        m->stack != NULL ? 0 : (uint64_t)(matrix * m->rule->parts) + (uint64_t)m->part;
    return before * bytes;
}

/* Bytes of a weight that is made, and where they go. */
typedef struct range {
    uint64_t first;
    size_t bytes;
    unsigned char *to;
} range;

/* A stack of ours, matrix by matrix. */
static cse_status read_stack(const cse_weight_mapping *self, const cse_made_weight *m,
                             const cse_weight *ours, range r)
{
    const uint64_t matrix = cse_weight_bytes(ours) / (uint64_t)ours->shape.dims[0];
    while (r.bytes > 0) {
        const uint64_t at = r.first / matrix, within = r.first % matrix;
        const size_t some = matrix - within < r.bytes ? (size_t)(matrix - within) : r.bytes;
        const int source = m->stack != NULL ? m->stack[at] : m->sources[0];
        CSE_TRY(cse_weights_read(self->from, source, place_of(m, (int64_t)at, matrix) + within,
                                 some, r.to));
        r = (range){ r.first + some, r.bytes - some, r.to + some };
    }
    return CSE_OK;
}

/* The elements of a weight that is made as a whole. */
static cse_status make_whole(const cse_weight_mapping *self, int index, const cse_weight *weight,
                             unsigned char *to)
{
    const cse_made_weight *m = &self->list[index];
    return m->rule->plus != 0 ? make_shifted(self, m, weight, to)
           : self->to_theirs  ? make_theirs(self, m, weight, to)
                              : make_ours(self, m, weight, to);
}

static void begin_to_keep(cse_weight_mapping *self, uint64_t bytes, bool are_rows)
{
    free(self->elements);
    self->elements = cse_malloc(bytes + 1);
    self->kept = -1;
    self->are_rows = are_rows;
}

static cse_status read_mapped(cse_weights *weights, int index, uint64_t first, size_t bytes,
                              void *to)
{
    cse_weight_mapping *self = weights->self;
    const cse_made_weight *m = &self->list[index];
    const cse_weight *weight = &weights->list[index];
    const cse_map_rule *rule = m->rule;
    if (m->factors != NULL) {
        memcpy(to, (const char *)m->factors + first, bytes);
        return CSE_OK;
    }
    if (rule->stack != NULL && self->to_theirs)
        return cse_weights_read(self->from, m->sources[0],
                                (uint64_t)m->part * cse_weight_bytes(weight) + first, bytes, to);
    if (rule->stack != NULL || rule->within)
        return read_stack(self, m, weight, (range){ first, bytes, to });
    if (!rule->transpose && rule->parts == 1 && m->heads == 0 && !rule->roll && rule->plus == 0)
        return cse_weights_read(self->from, m->sources[0], first, bytes, to);
    const bool is_kept = self->kept == index && !self->are_rows;
    if (!is_kept && first == 0 && bytes == cse_weight_bytes(weight))
        return make_whole(self, index, weight, to);
    if (!is_kept) {
        begin_to_keep(self, cse_weight_bytes(weight), false);
        CSE_TRY(make_whole(self, index, weight, self->elements));
        self->kept = index;
    }
    memcpy(to, self->elements + first, bytes);
    return CSE_OK;
}

/* ---- packed rows ---- */

const cse_packed_type *cse_mapping_packed(const cse_weight_mapping *self, const cse_made_weight *m)
{
    const cse_map_rule *rule = m->rule;
    const cse_weight *source = &self->from->list[m->sources[0]];
    const bool moves_rows = rule->stack == NULL && !rule->within && !rule->transpose &&
                            rule->squeeze == 0 && rule->plus == 0 &&
                            (!self->to_theirs || rule->parts == 1) && source->shape.rank == 2;
    return moves_rows ? source->packed : NULL;
}

/* The rows of a part of theirs as they lie there. */
static cse_status read_part_rows(const cse_weight_mapping *self, const cse_made_weight *m,
                                 int64_t rows, size_t row_bytes, unsigned char *to)
{
    const int64_t head = m->fused.head;
    if (!m->rule->is_fused)
        return cse_weights_read_rows(self->from, m->sources[0],
                                     self->to_theirs ? 0 : m->part * rows, rows, to);
    for (int64_t i = 0; i < cse_fused_heads_of(&m->fused, m->part); i++)
        CSE_TRY(cse_weights_read_rows(self->from, m->sources[0],
                                      (int64_t)cse_fused_place(&m->fused, m->part, i) * head, head,
                                      to + (size_t)(i * head) * row_bytes));
    return CSE_OK;
}

static cse_status read_mapped_rows(cse_weights *weights, int index, int64_t first, int64_t count,
                                   void *to)
{
    cse_weight_mapping *self = weights->self;
    const cse_made_weight *m = &self->list[index];
    const cse_weight *weight = &weights->list[index];
    const int64_t rows = weight->shape.dims[0];
    const size_t row_bytes = (size_t)cse_weight_row_bytes(weight);
    if (!m->rule->is_fused && !m->rule->roll && rotated_heads(m, m->part) == 0)
        return cse_weights_read_rows(self->from, m->sources[0],
                                     first + (self->to_theirs ? 0 : m->part * rows), count, to);
    if (self->kept != index || !self->are_rows) {
        begin_to_keep(self, (uint64_t)rows * row_bytes, true);
        CSE_TRY(read_part_rows(self, m, rows, row_bytes, self->elements));
        arrange_rows(
            m, m->part,
            (cse_map_rows){ .rows = self->elements, .count = rows, .row_bytes = row_bytes },
            self->to_theirs);
        self->kept = index;
    }
    memcpy(to, self->elements + (size_t)first * row_bytes, (size_t)count * row_bytes);
    return CSE_OK;
}

static void close_mapped(cse_weights *weights)
{
    cse_weight_mapping *self = weights->self;
    cse_weights_close(&self->from);
    free(self->list);
    free(self->elements);
}

void cse_mapping_open(cse_weight_mapping *mapping, cse_weights *view)
{
    view->self = mapping;
    view->read = read_mapped;
    view->read_rows = read_mapped_rows;
    view->close = close_mapped;
}

/* Attention and its gradients without a stored value for each pair of a query and a key.
 *
 * Heads are computed one after another. Forward: of 32 queries at a time, all scores, which are
 * turned into weights in place and multiplied by the values. Gradient: of 32 keys at a time and the
 * queries in chunks, scores and weights again, keys as rows, so that the gradients of keys and
 * values need nothing transposed; that of the queries is added up over the keys. Blocks in which
 * every key comes after every query are left out where the attention is causal, and of keys that
 * only a span of the queries sees those before the first and after the last of it.
 *
 * The order of every sum is that of the head's elements, of the keys, or of the queries
 * (attention.h), whatever the blocks are, all of which begin at a multiple of 32; a pair that is
 * hidden has the weight 0, which changes no sum. So the bits depend on the operands alone. */
#include "engine/code/kernels/attention.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"
#include "engine/code/kernels/attention_spans.h"
#include "engine/code/kernels/plan.h"
#include "engine/code/kernels/product_order.h"
#include "engine/code/kernels/scratch.h"
#include "engine/graph/trace/attention.h"

enum {
    LANES = 16,
    ROWS = CSE_ATTENTION_TURNED_COLUMNS, /* queries, or keys, of a block */
    PANEL = CSE_ATTENTION_KEPT_COLUMNS,
    CHUNK = 8 * ROWS, /* queries that the gradient takes at a time */
};

typedef struct attention_kernel {
    cse_kernel base;
    const cse_attention_way *way;
    cse_attention_sizes sizes;
    cse_dtype dtype; /* of the operands */
    cse_dtype result_dtypes[CSE_MAX_RESULTS], output_dtype;
    int operands[CSE_ATTENTION_INPUTS];
    int spans;            /* the operand that has them; -1: none */
    int64_t spans_stride; /* from sample to sample; 0: the same for all */
    cse_product_order order;
    bool causal, paired;
    float scale;
    cse_scratch *scratch;
} attention_kernel;

static int64_t round_up(int64_t size, int64_t multiple)
{
    return (size + multiple - 1) / multiple * multiple;
}

static bool by_pairs(const attention_kernel *kernel)
{
    return kernel->order == CSE_PRODUCT_ORDER_PAIRS;
}

/* `size` elements along the depth of a product, filled up with zeros as the order wants it. */
static int64_t filled_up(const attention_kernel *kernel, int64_t size)
{
    return round_up(size, by_pairs(kernel) ? CSE_ATTENTION_STEPS : kernel->paired ? 2 : 1);
}

/* Words that they take. */
static int64_t words_of(const attention_kernel *kernel, int64_t size)
{
    return filled_up(kernel, size) / (kernel->paired ? 2 : 1);
}

/* ---- operands ---- */

/* A head of an operand or result [batch, time, heads, size]: `whole` has its place, type and sizes.
 */
static cse_attention_matrix head_of(const attention_kernel *kernel, cse_attention_matrix whole,
                                    const int64_t place[2])
{
    const int64_t heads = kernel->sizes.heads;
    const int64_t at = (place[0] * whole.rows * heads + place[1]) * whole.columns;
    whole.values = (const char *)whole.values + at * (int64_t)cse_dtype_size(whole.dtype);
    whole.stride = heads * whole.columns;
    return whole;
}

static const char *row_at(const cse_attention_matrix *m, int64_t row)
{
    return (const char *)m->values + row * m->stride * (int64_t)cse_dtype_size(m->dtype);
}

/* Rows [first, first + count) one after another, [count][depth]. */
static void pack_rows(const attention_kernel *kernel, const cse_attention_matrix *m, int64_t first,
                      int64_t count, float *to)
{
    const size_t bytes = (size_t)m->columns * cse_dtype_size(m->dtype);
    const size_t depth_bytes = (size_t)words_of(kernel, m->columns) * sizeof *to;
    for (int64_t row = 0; row < count; row++) {
        char *place = (char *)to + (size_t)row * depth_bytes;
        memcpy(place, row_at(m, first + row), bytes);
        memset(place + bytes, 0, depth_bytes - bytes);
    }
}

/* Begins to load rows [first, end), as far as there are, before they are read or written: rows of a
 * head lie too far apart for the processor to foresee them. */
static void prefetch_rows(const cse_attention_matrix *m, int64_t first, int64_t end, bool write)
{
    const int64_t bytes = m->columns * (int64_t)cse_dtype_size(m->dtype);
    for (int64_t row = first; row < end && row < m->rows; row++)
        for (int64_t at = 0; at < bytes; at += 64) {
            if (write)
                __builtin_prefetch(row_at(m, row) + at, 1, 2);
            else
                __builtin_prefetch(row_at(m, row) + at, 0, 2);
        }
}

/* Columns of a panel of a kept matrix that begins with `column`. */
static int64_t panel_width(int64_t columns, int64_t column)
{
    return columns - column < PANEL ? round_up(columns - column, LANES) : PANEL;
}

/* Word `row` and, of pairs, `row` + 1 of columns [column, column + used) of rows [first, end). */
static void pack_words(const attention_kernel *kernel, const cse_attention_matrix *m,
                       const int64_t rows[2], int64_t column, int64_t used, float *to)
{
    static const uint16_t nothing[PANEL];
    const int64_t row = rows[0], end = rows[1];
    const size_t bytes = (size_t)used * sizeof *to;
    if (row >= end)
        memset(to, 0, bytes);
    else if (m->dtype == CSE_FLOAT32)
        memcpy(to, (const float *)(const void *)row_at(m, row) + column, bytes);
    else
        kernel->way->interleave(
            (const uint16_t *)(const void *)row_at(m, row) + column,
            row + 1 < end ? (const uint16_t *)(const void *)row_at(m, row + 1) + column : nothing,
            used, (uint32_t *)(void *)to);
}

/* Rows [first, first + count) as panels of columns, [panel][depth][width], whose depth is along the
 * rows. */
static void pack_kept(const attention_kernel *kernel, const cse_attention_matrix *m, int64_t first,
                      int64_t count, float *to)
{
    const int64_t per_word = m->dtype == CSE_FLOAT32 ? 1 : 2, filled = filled_up(kernel, count);
    for (int64_t column = 0; column < m->columns; column += PANEL) {
        const int64_t width = panel_width(m->columns, column);
        const int64_t used = m->columns - column < width ? m->columns - column : width;
        for (int64_t row = 0; row < filled; row += per_word, to += width) {
            const int64_t rows[2] = { first + row, first + count };
            pack_words(kernel, m, rows, column, used, to);
            memset(to + used, 0, (size_t)(width - used) * sizeof *to);
        }
    }
}

static int64_t kept_floats(const attention_kernel *kernel, int64_t rows, int64_t columns)
{
    return words_of(kernel, rows) * round_up(columns, LANES);
}

static int64_t turned_floats(const attention_kernel *kernel, int64_t rows, int64_t columns)
{
    return words_of(kernel, columns) * round_up(rows, ROWS);
}

/* Takes a part of the scratch memory; with a NULL start it only counts. */
typedef struct allotment {
    float *start;
    int64_t floats;
} allotment;

static float *take(allotment *from, int64_t floats)
{
    float *place = from->start != NULL ? from->start + from->floats : NULL;
    from->floats += round_up(floats, LANES);
    return place;
}

static bool has_spans(const attention_kernel *kernel)
{
    return kernel->spans >= 0;
}

static cse_packed_spans lay_out_spans(const attention_kernel *kernel, allotment *from)
{
    const int64_t floats = has_spans(kernel) ? round_up(kernel->sizes.keys, ROWS) : 0;
    int32_t *begins = floats > 0 ? (int32_t *)(void *)take(from, floats) : NULL;
    return (cse_packed_spans){ begins, floats > 0 ? (int32_t *)(void *)take(from, floats) : NULL };
}

static void pack_spans(const attention_kernel *kernel, const int32_t *spans,
                       const cse_packed_spans *to)
{
    if (has_spans(kernel))
        cse_spans_pack(spans, kernel->sizes.keys, to);
}

/* ---- products ---- */

/* Rows, as pack_rows left them, times columns [first, end) of a turned matrix, to rows of `stride`.
 */
typedef struct turned_product {
    const float *rows;
    int64_t row_count, depth;
    const float *turned;
    int64_t first, end; /* `first` is a multiple of the block */
    float *to;
    int64_t stride;
} turned_product;

static void multiply_turned(const attention_kernel *kernel, const turned_product *t)
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

/* Rows times a kept matrix of `columns` columns, whose panels are `panel_depth` words deep, from
 * word `first` on. */
static void multiply_kept(const attention_kernel *kernel, cse_attention_product product,
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

/* ---- forward ---- */

/* What one head is computed from; the last four of the gradient alone. */
typedef struct head_operands {
    cse_attention_matrix queries, keys, values, output, upstream;
    const int32_t *spans; /* [2, key], of the sample */
    const float *statistics;
    void *const *results;
    int64_t place[2];
} head_operands;

typedef struct forward_scratch {
    float *keys, *values; /* turned; kept */
    float *queries, *scores, *output, *maxima, *reciprocals;
    cse_packed_spans spans;
    int64_t stride, output_stride;
} forward_scratch;

/* Rows are an odd number of cache lines apart, so as not to fall into the same cache sets. */
static int64_t stride_of(int64_t columns)
{
    return round_up(columns, 2 * LANES) + LANES;
}

static forward_scratch lay_out_forward(const attention_kernel *kernel, allotment *from)
{
    const cse_attention_sizes *s = &kernel->sizes;
    forward_scratch f = { .stride = stride_of(s->keys),
                          .output_stride = round_up(s->value, LANES) };
    f.keys = take(from, turned_floats(kernel, s->keys, s->head));
    f.values = take(from, kept_floats(kernel, s->keys, s->value));
    f.queries = take(from, ROWS * words_of(kernel, s->head));
    f.scores = take(from, ROWS * f.stride);
    f.output = take(from, ROWS * f.output_stride);
    f.maxima = take(from, ROWS);
    f.reciprocals = take(from, ROWS);
    f.spans = lay_out_spans(kernel, from);
    return f;
}

static void store_output(const attention_kernel *kernel, const forward_scratch *f,
                         const int64_t place[3], int64_t rows, void *const results[])
{
    const cse_attention_sizes *s = &kernel->sizes;
    const size_t bytes = (size_t)rows * sizeof(float);
    char *output = results[CSE_ATTENTION_OUTPUT];
    float *statistics = results[CSE_ATTENTION_STATISTICS];
    if (statistics != NULL) {
        statistics += (place[0] * s->heads + place[1]) * 2 * s->queries + place[2];
        memcpy(statistics, f->maxima, bytes);
        memcpy(statistics + s->queries, f->reciprocals, bytes);
    }
    if (output == NULL)
        return;
    const cse_dtype dtype = kernel->result_dtypes[CSE_ATTENTION_OUTPUT];
    const int64_t at = ((place[0] * s->queries + place[2]) * s->heads + place[1]) * s->value;
    kernel->way->store(&(cse_attention_store){ .from = f->output,
                                               .factors = f->reciprocals,
                                               .from_stride = f->output_stride,
                                               .positive = by_pairs(kernel),
                                               .rows = rows,
                                               .columns = s->value,
                                               .dtype = dtype,
                                               .to = output + at * (int64_t)cse_dtype_size(dtype),
                                               .to_stride = s->heads * s->value });
}

/* Queries from `first` on. */
static void forward_block(const attention_kernel *kernel, const forward_scratch *f,
                          const head_operands *o, int64_t first, void *const results[])
{
    const cse_attention_sizes *s = &kernel->sizes;
    const int64_t place[3] = { o->place[0], o->place[1], first };
    const int64_t left = s->queries - first, rows = left < ROWS ? left : ROWS;
    int64_t keys[2] = { 0, kernel->causal && first + rows < s->keys ? first + rows : s->keys };
    if (has_spans(kernel))
        cse_spans_narrow_keys(&f->spans, first, first + rows, keys);
    const int64_t seen = keys[1] - keys[0];
    pack_rows(kernel, &o->queries, first, rows, f->queries);
    multiply_turned(kernel, &(turned_product){ .rows = f->queries,
                                               .row_count = rows,
                                               .depth = words_of(kernel, s->head),
                                               .turned = f->keys,
                                               .first = keys[0],
                                               .end = keys[1],
                                               .to = f->scores,
                                               .stride = f->stride });
    kernel->way->softmax(
        &(cse_attention_softmax){ .scores = f->scores,
                                  .stride = f->stride,
                                  .rows = rows,
                                  .seen = kernel->causal ? first + 1 - keys[0] : seen,
                                  .seen_step = kernel->causal,
                                  .most = seen,
                                  .filled = round_up(filled_up(kernel, seen), LANES),
                                  .factor = kernel->scale * (float)M_LOG2E,
                                  .paired = kernel->paired,
                                  .spans = cse_spans_from(&f->spans, keys[0]),
                                  .query = (int32_t)first,
                                  .maxima = f->maxima,
                                  .reciprocals = f->reciprocals });
    if (results[CSE_ATTENTION_OUTPUT] != NULL)
        multiply_kept(kernel,
                      (cse_attention_product){ .from = f->scores,
                                               .row_stride = f->stride,
                                               .depth_stride = 1,
                                               .rows = rows,
                                               .panel = f->values,
                                               .depth = words_of(kernel, seen),
                                               .to = f->output,
                                               .to_stride = f->output_stride,
                                               .first = true },
                      s->value, words_of(kernel, s->keys), words_of(kernel, keys[0]));
    store_output(kernel, f, place, rows, results);
}

static head_operands operands_of(const attention_kernel *kernel, const void *const inputs[],
                                 int64_t number)
{
    const cse_attention_sizes *s = &kernel->sizes;
    const int *at = kernel->operands;
    const int64_t place[2] = { number / s->heads, number % s->heads };
    const void *q = inputs[at[CSE_ATTENTION_QUERY]], *k = inputs[at[CSE_ATTENTION_KEY]],
               *v = inputs[at[CSE_ATTENTION_VALUE]];
    const cse_dtype dtype = kernel->dtype;
    return (head_operands){
        .queries =
            head_of(kernel, (cse_attention_matrix){ q, dtype, 0, s->queries, s->head }, place),
        .keys = head_of(kernel, (cse_attention_matrix){ k, dtype, 0, s->keys, s->head }, place),
        .values = head_of(kernel, (cse_attention_matrix){ v, dtype, 0, s->keys, s->value }, place),
        .spans = has_spans(kernel)
                     ? (const int32_t *)inputs[kernel->spans] + place[0] * kernel->spans_stride
                     : NULL,
        .place = { place[0], place[1] },
    };
}

static void begin_way(const attention_kernel *kernel)
{
    if (kernel->way->begin != NULL)
        kernel->way->begin();
}

static void end_way(const attention_kernel *kernel)
{
    if (kernel->way->end != NULL)
        kernel->way->end();
}

typedef struct forward_run {
    const attention_kernel *kernel;
    const void *const *inputs;
    void *output;
} forward_run;

/* Heads [begin, end). While a head is computed, the operands of the next one are loaded. */
static void forward_heads(void *run, int member, int64_t begin, int64_t end)
{
    const forward_run *r = run;
    const attention_kernel *kernel = r->kernel;
    const cse_attention_sizes *s = &kernel->sizes;
    void *output = r->output;
    allotment scratch = { NULL, 0 };
    (void)lay_out_forward(kernel, &scratch);
    scratch.start = member == 0 ? cse_scratch_view(kernel->scratch)
                                : cse_thread_team_scratch(kernel->base.team, member,
                                                          (size_t)scratch.floats * sizeof(float));
    scratch.floats = 0;
    const forward_scratch f = lay_out_forward(kernel, &scratch);
    begin_way(kernel);
    for (int64_t head = begin; head < end; head++) {
        const head_operands now = operands_of(kernel, r->inputs, head);
        const head_operands next = operands_of(kernel, r->inputs, head + 1 < end ? head + 1 : head);
        kernel->way->pack_turned(&now.keys, words_of(kernel, s->head), f.keys);
        pack_kept(kernel, &now.values, 0, s->keys, f.values);
        pack_spans(kernel, now.spans, &f.spans);
        for (int64_t first = 0; first < s->queries; first += ROWS) {
            const bool last = first + ROWS >= s->queries;
            prefetch_rows(&next.queries, first, first + ROWS, false);
            prefetch_rows(&next.keys, first, last ? s->keys : first + ROWS, false);
            prefetch_rows(&next.values, first, last ? s->keys : first + ROWS, false);
            forward_block(kernel, &f, &now, first, output);
        }
    }
    end_way(kernel);
}

static void run_forward(cse_kernel *base, const void *const inputs[], void *output)
{
    const attention_kernel *kernel = (const attention_kernel *)base;
    forward_run r = { kernel, inputs, output };
    const int64_t heads = kernel->sizes.batch * kernel->sizes.heads;
    cse_thread_team_divide(base->team, &(cse_team_job){ forward_heads, &r, heads, 1 });
}

/* ---- gradient ---- */

typedef struct gradient_scratch {
    float *turned_queries, *turned_upstream, *kept_queries, *kept_upstream;
    float *maxima, *reciprocals, *means; /* by query, then zeros */
    float *key_rows, *value_rows, *kept_keys;
    float *scores, *change, *turned_change; /* [keys of the block][queries of the chunk] */
    float *sums[CSE_ATTENTION_GRADIENTS];   /* of all queries; of the block's keys and values */
    int64_t strides[CSE_ATTENTION_GRADIENTS];
    cse_packed_spans spans;
    int64_t stride;
} gradient_scratch;

static gradient_scratch lay_out_gradient(const attention_kernel *kernel, allotment *from)
{
    const cse_attention_sizes *s = &kernel->sizes;
    const int64_t padded = round_up(s->queries, ROWS);
    const int64_t head = round_up(s->head, LANES), value = round_up(s->value, LANES);
    gradient_scratch g = { .stride = stride_of(padded < CHUNK ? padded : CHUNK),
                           .strides = { head, head, value } };
    g.turned_queries = take(from, turned_floats(kernel, s->queries, s->head));
    g.turned_upstream = take(from, turned_floats(kernel, s->queries, s->value));
    g.kept_queries = take(from, kept_floats(kernel, s->queries, s->head));
    g.kept_upstream = take(from, kept_floats(kernel, s->queries, s->value));
    g.maxima = take(from, padded);
    g.reciprocals = take(from, padded);
    g.means = take(from, padded);
    g.key_rows = take(from, ROWS * words_of(kernel, s->head));
    g.value_rows = take(from, ROWS * words_of(kernel, s->value));
    g.kept_keys = take(from, kept_floats(kernel, ROWS, s->head));
    g.scores = take(from, ROWS * g.stride);
    g.change = take(from, ROWS * g.stride);
    g.turned_change = take(from, kernel->paired ? ROWS / 2 * g.stride : 0); /* either way */
    g.sums[CSE_ATTENTION_QUERY] = take(from, padded * head);
    g.sums[CSE_ATTENTION_KEY] = take(from, ROWS * head);
    g.sums[CSE_ATTENTION_VALUE] = take(from, ROWS * value);
    g.spans = lay_out_spans(kernel, from);
    return g;
}

/* The head's part of a result. */
static cse_attention_matrix result_of(const attention_kernel *kernel, const head_operands *o,
                                      int result)
{
    const cse_attention_sizes *s = &kernel->sizes;
    const int64_t rows = result == CSE_ATTENTION_QUERY ? s->queries : s->keys;
    const int64_t columns = result == CSE_ATTENTION_VALUE ? s->value : s->head;
    return head_of(kernel,
                   (cse_attention_matrix){ o->results[result], kernel->result_dtypes[result], 0,
                                           rows, columns },
                   o->place);
}

static head_operands gradient_operands_of(const attention_kernel *kernel,
                                          const void *const inputs[], int64_t number)
{
    const cse_attention_sizes *s = &kernel->sizes;
    const int *at = kernel->operands;
    const void *output = inputs[at[CSE_ATTENTION_OF_OUTPUT]],
               *upstream = inputs[at[CSE_ATTENTION_OF_UPSTREAM]];
    head_operands o = operands_of(kernel, inputs, number);
    o.output = head_of(
        kernel, (cse_attention_matrix){ output, kernel->output_dtype, 0, s->queries, s->value },
        o.place);
    o.upstream =
        head_of(kernel, (cse_attention_matrix){ upstream, kernel->dtype, 0, s->queries, s->value },
                o.place);
    o.statistics = (const float *)inputs[at[CSE_ATTENTION_OF_STATISTICS]] + number * 2 * s->queries;
    return o;
}

static void prepare_head(const attention_kernel *kernel, const gradient_scratch *g,
                         const head_operands *o)
{
    const int64_t queries = kernel->sizes.queries, padded = round_up(queries, ROWS);
    const size_t bytes = (size_t)queries * sizeof(float);
    kernel->way->pack_turned(&o->queries, words_of(kernel, kernel->sizes.head), g->turned_queries);
    kernel->way->pack_turned(&o->upstream, words_of(kernel, kernel->sizes.value),
                             g->turned_upstream);
    pack_kept(kernel, &o->queries, 0, queries, g->kept_queries);
    pack_kept(kernel, &o->upstream, 0, queries, g->kept_upstream);
    memcpy(g->maxima, o->statistics, bytes);
    memcpy(g->reciprocals, o->statistics + queries, bytes);
    kernel->way->dot_rows(&o->output, &o->upstream, g->means);
    for (int64_t i = queries; i < padded; i++)
        g->maxima[i] = g->reciprocals[i] = g->means[i] = 0;
    pack_spans(kernel, o->spans, &g->spans);
    if (has_spans(kernel)) /* no block of keys needs to have all queries */
        memset(g->sums[CSE_ATTENTION_QUERY], 0,
               (size_t)(padded * g->strides[CSE_ATTENTION_QUERY]) * sizeof(float));
}

/* Adds what queries [first, end) give to the gradients, for the keys of the block from `key` on. */
typedef struct block_range {
    int64_t key, keys, first, end;
} block_range;

static void weigh_chunk(const attention_kernel *kernel, const gradient_scratch *g,
                        const block_range *b)
{
    const cse_attention_sizes *s = &kernel->sizes;
    turned_product product = { .rows = g->key_rows,
                               .row_count = b->keys,
                               .depth = words_of(kernel, s->head),
                               .turned = g->turned_queries,
                               .first = b->first,
                               .end = b->end,
                               .to = g->scores,
                               .stride = g->stride };
    multiply_turned(kernel, &product);
    product.rows = g->value_rows;
    product.depth = words_of(kernel, s->value);
    product.turned = g->turned_upstream;
    product.to = g->change;
    multiply_turned(kernel, &product);
    const bool hides = kernel->causal && b->key + b->keys > b->first;
    kernel->way->differentiate(
        &(cse_attention_scores){ .scores = g->scores,
                                 .gradient = g->change,
                                 .stride = g->stride,
                                 .rows = b->keys,
                                 .columns = round_up(filled_up(kernel, b->end - b->first), LANES),
                                 .first_seen = hides ? b->key - b->first : -ROWS,
                                 .factor = kernel->scale * (float)M_LOG2E,
                                 .maxima = g->maxima + b->first,
                                 .reciprocals = g->reciprocals + b->first,
                                 .means = g->means + b->first,
                                 .spans = cse_spans_from(&g->spans, b->key),
                                 .query = b->first,
                                 .paired = kernel->paired,
                                 .turned = g->turned_change,
                                 .by_query = by_pairs(kernel) });
}

static void add_chunk(const attention_kernel *kernel, const gradient_scratch *g,
                      const head_operands *o, const block_range *b, bool first)
{
    const cse_attention_sizes *s = &kernel->sizes;
    const int64_t queries = words_of(kernel, s->queries), from = words_of(kernel, b->first);
    cse_attention_product product = { .from = g->scores,
                                      .row_stride = g->stride,
                                      .depth_stride = 1,
                                      .rows = b->keys,
                                      .panel = g->kept_upstream,
                                      .depth = words_of(kernel, b->end - b->first),
                                      .to = g->sums[CSE_ATTENTION_VALUE],
                                      .to_stride = g->strides[CSE_ATTENTION_VALUE],
                                      .first = first };
    if (o->results[CSE_ATTENTION_VALUE] != NULL)
        multiply_kept(kernel, product, s->value, queries, from);
    product.from = g->change;
    product.panel = g->kept_queries;
    product.to = g->sums[CSE_ATTENTION_KEY];
    product.to_stride = g->strides[CSE_ATTENTION_KEY];
    if (o->results[CSE_ATTENTION_KEY] != NULL)
        multiply_kept(kernel, product, s->head, queries, from);
    product = (cse_attention_product){ .from = kernel->paired ? g->turned_change : g->change,
                                       .row_stride = by_pairs(kernel) ? ROWS / 2 : 1,
                                       .depth_stride = by_pairs(kernel) ? 1 : g->stride,
                                       .rows = b->end - b->first,
                                       .panel = g->kept_keys,
                                       .depth = words_of(kernel, b->keys),
                                       .to = g->sums[CSE_ATTENTION_QUERY] +
                                             b->first * g->strides[CSE_ATTENTION_QUERY],
                                       .to_stride = g->strides[CSE_ATTENTION_QUERY],
                                       .first = b->key == 0 && !has_spans(kernel) };
    if (o->results[CSE_ATTENTION_QUERY] != NULL)
        multiply_kept(kernel, product, s->head, words_of(kernel, b->keys), 0);
}

/* The sums to `rows[1]` rows of the result from rows[0] on. */
static void store_sums(const attention_kernel *kernel, const gradient_scratch *g,
                       const head_operands *o, int result, const int64_t rows[2])
{
    if (o->results[result] == NULL)
        return;
    const cse_attention_matrix m = result_of(kernel, o, result);
    const char *start = o->results[result];
    char *to = (char *)o->results[result] + (row_at(&m, rows[0]) - start);
    kernel->way->store(
        &(cse_attention_store){ .from = g->sums[result],
                                .factor = result == CSE_ATTENTION_VALUE ? 1 : kernel->scale,
                                .from_stride = g->strides[result],
                                .positive = by_pairs(kernel),
                                .rows = rows[1],
                                .columns = m.columns,
                                .dtype = m.dtype,
                                .to = to,
                                .to_stride = m.stride });
}

/* Begins to load what the next head needs of these rows, and where this head's results go. */
static void prefetch_block(const attention_kernel *kernel, const head_operands *o,
                           const head_operands *next, int64_t first)
{
    const cse_attention_sizes *s = &kernel->sizes;
    const int64_t end = first + ROWS >= s->keys ? s->queries : first + ROWS;
    prefetch_rows(&next->keys, first, first + ROWS, false);
    prefetch_rows(&next->values, first, first + ROWS, false);
    prefetch_rows(&next->queries, first, end, false);
    prefetch_rows(&next->output, first, end, false);
    prefetch_rows(&next->upstream, first, end, false);
    for (int i = 0; i < CSE_ATTENTION_GRADIENTS; i++)
        if (o->results[i] != NULL) {
            const cse_attention_matrix m = result_of(kernel, o, i);
            prefetch_rows(&m, first, i == CSE_ATTENTION_QUERY ? end : first + ROWS, true);
        }
}

/* The keys from `key` on, with all queries that see one of them. */
static void gradient_block(const attention_kernel *kernel, const gradient_scratch *g,
                           const head_operands *o, int64_t key)
{
    const cse_attention_sizes *s = &kernel->sizes;
    const int64_t left = s->keys - key, rows[2] = { key, left < ROWS ? left : ROWS };
    int64_t queries[2] = { kernel->causal ? key : 0, s->queries };
    if (has_spans(kernel))
        cse_spans_narrow_queries(&g->spans, key, rows[1], queries);
    const int64_t start = queries[0];
    pack_rows(kernel, &o->keys, key, rows[1], g->key_rows);
    pack_rows(kernel, &o->values, key, rows[1], g->value_rows);
    pack_kept(kernel, &o->keys, key, rows[1], g->kept_keys);
    for (int64_t first = start; first < queries[1]; first += CHUNK) {
        const int64_t end = first + CHUNK < queries[1] ? first + CHUNK : queries[1];
        const block_range range = { key, rows[1], first, end };
        weigh_chunk(kernel, g, &range);
        add_chunk(kernel, g, o, &range, first == start);
    }
    for (int i = CSE_ATTENTION_KEY; i <= CSE_ATTENTION_VALUE; i++) {
        if (start >= queries[1]) /* no query sees these keys */
            memset(g->sums[i], 0, (size_t)(ROWS * g->strides[i]) * sizeof(float));
        store_sums(kernel, g, o, i, rows);
    }
}

static void run_gradient(cse_kernel *base, const void *const inputs[], void *output)
{
    const attention_kernel *kernel = (const attention_kernel *)base;
    const cse_attention_sizes *s = &kernel->sizes;
    const int64_t count = s->batch * s->heads;
    allotment scratch = { cse_scratch_view(kernel->scratch), 0 };
    const gradient_scratch g = lay_out_gradient(kernel, &scratch);
    begin_way(kernel);
    for (int64_t head = 0; head < count; head++) {
        head_operands o = gradient_operands_of(kernel, inputs, head);
        const head_operands next =
            gradient_operands_of(kernel, inputs, head + 1 < count ? head + 1 : head);
        o.results = output;
        prepare_head(kernel, &g, &o);
        for (int64_t key = 0; key < s->keys; key += ROWS) {
            prefetch_block(kernel, &o, &next, key);
            gradient_block(kernel, &g, &o, key);
        }
        store_sums(kernel, &g, &o, CSE_ATTENTION_QUERY, (int64_t[]){ 0, s->queries });
    }
    end_way(kernel);
}

/* ---- making kernels ---- */

static void destroy(cse_kernel *base)
{
    attention_kernel *kernel = (attention_kernel *)base;
    cse_scratch_release(&kernel->scratch);
    free(kernel);
}

/* The operands are `products` matrices of head or value; the mask hides half of the pairs of a
 * square. */
static double flops_of(const attention_kernel *kernel, double by_head, double by_value)
{
    const cse_attention_sizes *s = &kernel->sizes;
    double pairs = 0;
    for (int64_t i = 0; i < s->queries; i++)
        pairs += (double)(kernel->causal && i + 1 < s->keys ? i + 1 : s->keys);
    return 2 * pairs * (double)(s->batch * s->heads) *
           (by_head * (double)s->head + by_value * (double)s->value);
}

/* `inputs`: of the op without spans. */
static cse_status new_attention(const cse_kernel_plan *plan, int inputs, attention_kernel **result)
{
    char text[256];
    attention_kernel *kernel;
    const cse_attributes *attributes = &plan->product->attributes;
    const cse_dtype dtype = plan->operand_dtypes[0];
    bool supported = dtype == CSE_FLOAT32 || dtype == CSE_BFLOAT16;
    for (int r = 0; r < CSE_MAX_RESULTS; r++)
        supported =
            supported && (plan->results[r] == NULL || plan->results[r]->dtype == CSE_FLOAT32 ||
                          plan->results[r]->dtype == CSE_BFLOAT16);
    if (!supported)
        return cse_fail(CSE_UNAVAILABLE, "%s: there is no kernel for these types",
                        cse_kernel_plan_text(plan, text, sizeof text));
    kernel = cse_calloc(1, sizeof *kernel);
    *kernel = (attention_kernel){ .base = { .destroy = destroy },
                                  .sizes = cse_attention_sizes_of_node(plan->product),
                                  .dtype = dtype,
                                  .causal = attributes->integers[CSE_ATTENTION_CAUSAL] != 0,
                                  .paired = dtype == CSE_BFLOAT16,
                                  .scale = (float)attributes->numbers[CSE_ATTENTION_SCALE] };
    kernel->order = cse_attention_order(plan->graph, dtype);
    kernel->way = cse_attention_choose_way(kernel->order, true);
    kernel->base.implementation = kernel->way->name;
    if (by_pairs(kernel)) /* of the others each type has one */
        kernel->base.order = cse_product_order_name(kernel->order);
    for (int i = 0; i < inputs; i++)
        kernel->operands[i] = plan->operands[i];
    kernel->spans = plan->product->input_count > inputs ? plan->operands[inputs] : -1;
    if (has_spans(kernel) && plan->product->inputs[inputs]->shape.dims[0] > 1)
        kernel->spans_stride = 2 * kernel->sizes.keys;
    for (int r = 0; r < CSE_MAX_RESULTS; r++)
        kernel->result_dtypes[r] = plan->results[r] != NULL ? plan->results[r]->dtype : dtype;
    *result = kernel;
    return CSE_OK;
}

static void share_scratch(const cse_kernel_plan *plan, attention_kernel *kernel, int64_t floats)
{
    kernel->scratch = cse_scratch_share(plan->graph, (size_t)floats * sizeof(float));
}

cse_status cse_kernel_new_attention(const cse_kernel_plan *plan, cse_kernel **result)
{
    attention_kernel *kernel;
    allotment count = { NULL, 0 };
    CSE_TRY(new_attention(plan, CSE_ATTENTION_GRADIENTS, &kernel));
    kernel->base.run = run_forward;
    kernel->base.flops = flops_of(kernel, 1, plan->results[CSE_ATTENTION_OUTPUT] != NULL);
    (void)lay_out_forward(kernel, &count);
    share_scratch(plan, kernel, count.floats);
    *result = &kernel->base;
    return CSE_OK;
}

cse_status cse_kernel_new_attention_gradient(const cse_kernel_plan *plan, cse_kernel **result)
{
    attention_kernel *kernel;
    allotment count = { NULL, 0 };
    CSE_TRY(new_attention(plan, CSE_ATTENTION_INPUTS, &kernel));
    kernel->output_dtype = plan->operand_dtypes[CSE_ATTENTION_OF_OUTPUT];
    kernel->base.run = run_gradient;
    kernel->base.flops = flops_of(kernel,
                                  1 + (plan->results[CSE_ATTENTION_QUERY] != NULL) +
                                      (plan->results[CSE_ATTENTION_KEY] != NULL),
                                  1 + (plan->results[CSE_ATTENTION_VALUE] != NULL));
    (void)lay_out_gradient(kernel, &count);
    share_scratch(plan, kernel, count.floats);
    *result = &kernel->base;
    return CSE_OK;
}

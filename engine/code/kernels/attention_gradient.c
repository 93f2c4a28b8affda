/* The gradients of attention; see attention_forward.c. */
#include <math.h>
#include <string.h>

#include "engine/code/kernels/attention_parts.h"

enum { LANES = 16, ROWS = CSE_ATTENTION_TURNED_COLUMNS };

/* Keys that the gradient takes at a time: of pairs more, because what is read and written for each
 * block of them then costs more than the products. */
static int64_t key_block(const cse_attention_kernel *kernel)
{
    return cse_attention_by_pairs(kernel) ? 2 * ROWS : ROWS;
}

/* Queries that the gradient takes at a time, so that what is stored of each pair stays in L2. */
static int64_t query_chunk(const cse_attention_kernel *kernel)
{
    return cse_attention_by_pairs(kernel) ? 4 * ROWS : 8 * ROWS;
}

typedef struct gradient_scratch {
    float *turned_queries, *turned_upstream, *kept_queries, *kept_upstream;
    float *maxima, *reciprocals, *means; /* by query, then zeros */
    float *key_rows, *value_rows, *kept_keys;
    float *scores, *change; /* [keys of the block][queries of the chunk] */
    /* What becomes of them: in their place, or, `separate`, in places of its own, so that the
     * scores of 32 queries stay in the nearest cache. */
    float *weights, *changes, *turned_changes;
    bool separate;
    float *sums[CSE_ATTENTION_GRADIENTS]; /* of all queries; of the block's keys and values */
    int64_t strides[CSE_ATTENTION_GRADIENTS];
    cse_packed_spans spans;
    int64_t score_floats; /* `separate`: of one of the two blocks that take turns */
    int64_t stride, weight_stride, turned_stride;
} gradient_scratch;

static gradient_scratch lay_out_gradient(const cse_attention_kernel *kernel,
                                         cse_attention_allotment *from)
{
    const cse_attention_sizes *s = &kernel->sizes;
    const int64_t padded = cse_attention_round_up(s->queries, ROWS), block = key_block(kernel);
    const int64_t head = cse_attention_round_up(s->head, LANES),
                  value = cse_attention_round_up(s->value, LANES);
    const int64_t chunk = cse_attention_least(padded, query_chunk(kernel));
    gradient_scratch g = { .separate = cse_attention_by_pairs(kernel),
                           .strides = { head, head, value } };
    g.stride = g.separate ? ROWS : cse_attention_stride_of(chunk);
    g.weight_stride = g.separate ? cse_attention_stride_of(chunk / 2) : g.stride;
    g.turned_stride = g.separate ? block / 2 : g.stride;
    g.turned_queries =
        cse_attention_take(from, cse_attention_turned_floats(kernel, s->queries, s->head));
    g.turned_upstream =
        cse_attention_take(from, cse_attention_turned_floats(kernel, s->queries, s->value));
    g.kept_queries =
        cse_attention_take(from, cse_attention_kept_floats(kernel, s->queries, s->head));
    g.kept_upstream =
        cse_attention_take(from, cse_attention_kept_floats(kernel, s->queries, s->value));
    g.maxima = cse_attention_take(from, padded);
    g.reciprocals = cse_attention_take(from, padded);
    g.means = cse_attention_take(from, padded);
    g.key_rows = cse_attention_take(from, block * cse_attention_words_of(kernel, s->head));
    g.value_rows = cse_attention_take(from, block * cse_attention_words_of(kernel, s->value));
    g.kept_keys = cse_attention_take(from, cse_attention_kept_floats(kernel, block, s->head));
    g.score_floats = g.separate ? ROWS * g.stride : block * g.stride;
    g.scores = cse_attention_take(from, (g.separate ? 2 : 1) * g.score_floats);
    g.change = cse_attention_take(from, (g.separate ? 2 : 1) * g.score_floats);
    g.weights = g.separate ? cse_attention_take(from, block * g.weight_stride) : g.scores;
    g.changes = g.separate ? cse_attention_take(from, block * g.weight_stride) : g.change;
    g.turned_changes =
        cse_attention_take(from, !kernel->paired ? 0 : block / 2 * (g.separate ? chunk : g.stride));
    g.sums[CSE_ATTENTION_QUERY] = cse_attention_take(from, padded * head);
    g.sums[CSE_ATTENTION_KEY] = cse_attention_take(from, block * head);
    g.sums[CSE_ATTENTION_VALUE] = cse_attention_take(from, block * value);
    g.spans = cse_attention_lay_out_spans(kernel, from);
    return g;
}

/* The head's part of a result. */
static cse_attention_matrix result_of(const cse_attention_kernel *kernel,
                                      const cse_attention_operands *o, int result)
{
    const cse_attention_sizes *s = &kernel->sizes;
    const int64_t rows = result == CSE_ATTENTION_QUERY ? s->queries : s->keys;
    const int64_t columns = result == CSE_ATTENTION_VALUE ? s->value : s->head;
    return cse_attention_head_of(kernel,
                                 (cse_attention_matrix){ o->results[result],
                                                         kernel->result_dtypes[result], 0, rows,
                                                         columns },
                                 o->place);
}

static cse_attention_operands gradient_operands_of(const cse_attention_kernel *kernel,
                                                   const void *const inputs[], int64_t number)
{
    const cse_attention_sizes *s = &kernel->sizes;
    const int *at = kernel->operands;
    const void *output = inputs[at[CSE_ATTENTION_OF_OUTPUT]],
               *upstream = inputs[at[CSE_ATTENTION_OF_UPSTREAM]];
    cse_attention_operands o = cse_attention_operands_of(kernel, inputs, number);
    o.output = cse_attention_head_of(
        kernel, (cse_attention_matrix){ output, kernel->output_dtype, 0, s->queries, s->value },
        o.place);
    o.upstream = cse_attention_head_of(
        kernel, (cse_attention_matrix){ upstream, kernel->dtype, 0, s->queries, s->value },
        o.place);
    o.statistics = (const float *)inputs[at[CSE_ATTENTION_OF_STATISTICS]] + number * 2 * s->queries;
    return o;
}

static void prepare_head(const cse_attention_kernel *kernel, const gradient_scratch *g,
                         const cse_attention_operands *o)
{
    const int64_t queries = kernel->sizes.queries, padded = cse_attention_round_up(queries, ROWS);
    const size_t bytes = (size_t)queries * sizeof(float);
    kernel->way->pack_turned(&o->queries, cse_attention_words_of(kernel, kernel->sizes.head),
                             g->turned_queries);
    kernel->way->pack_turned(&o->upstream, cse_attention_words_of(kernel, kernel->sizes.value),
                             g->turned_upstream);
    cse_attention_pack_kept(kernel, &o->queries, 0, queries, g->kept_queries);
    cse_attention_pack_kept(kernel, &o->upstream, 0, queries, g->kept_upstream);
    memcpy(g->maxima, o->statistics, bytes);
    memcpy(g->reciprocals, o->statistics + queries, bytes);
    kernel->way->dot_rows(&o->output, &o->upstream, g->means);
    for (int64_t i = queries; i < padded; i++)
        g->maxima[i] = g->reciprocals[i] = g->means[i] = 0;
    cse_attention_pack_spans(kernel, o->spans, &g->spans);
    if (cse_attention_has_spans(kernel)) /* no block of keys needs to have all queries */
        memset(g->sums[CSE_ATTENTION_QUERY], 0,
               (size_t)(padded * g->strides[CSE_ATTENTION_QUERY]) * sizeof(float));
}

/* Adds what queries [first, end) give to the gradients, for the keys of the block from `key` on. */
typedef struct block_range {
    int64_t key, keys, first, end;
} block_range;

/* Up to 32 queries of a chunk and up to 32 keys of a block, by the first key's number in it. */
typedef struct score_block {
    const block_range *range;
    int64_t query, queries, row, rows;
    int64_t place; /* of the scores */
    bool hidden;   /* none of the queries sees one of the keys */
} score_block;

/* The block of `step`, which goes over the keys, then over the queries of a chunk. Where scores
 * have places of their own, two blocks take turns at the same ones. */
static score_block score_block_of(const cse_attention_kernel *kernel, const gradient_scratch *g,
                                  const block_range *b, int64_t step)
{
    const bool leaves_out = cse_attention_by_pairs(kernel) && kernel->causal;
    const int64_t by_key = (b->keys + ROWS - 1) / ROWS, row = step % by_key * ROWS,
                  at = step / by_key * ROWS;
    return (score_block){ .range = b,
                          .query = b->first + at,
                          .queries = cse_attention_least(ROWS, b->end - b->first - at),
                          .row = row,
                          .rows = cse_attention_least(ROWS, b->keys - row),
                          .place = g->separate ? step % 2 * g->score_floats : row * g->stride + at,
                          .hidden = leaves_out && b->key + row >= b->first + at + ROWS };
}

/* The scores, and the gradient of the weights. */
static void score_products(const cse_attention_kernel *kernel, const gradient_scratch *g,
                           const score_block *block, cse_attention_product products[2])
{
    const cse_attention_sizes *s = &kernel->sizes;
    const float *rows[2] = { g->key_rows, g->value_rows },
                *turned[2] = { g->turned_queries, g->turned_upstream };
    float *to[2] = { g->scores, g->change };
    for (int i = 0; i < 2; i++) {
        const int64_t depth = cse_attention_words_of(kernel, i == 0 ? s->head : s->value);
        products[i] = (cse_attention_product){ .from = rows[i] + block->row * depth,
                                               .row_stride = depth,
                                               .depth_stride = 1,
                                               .rows = block->rows,
                                               .panel = turned[i] + block->query * depth,
                                               .depth = depth,
                                               .width = ROWS,
                                               .to = to[i] + block->place,
                                               .to_stride = g->stride,
                                               .first = true };
    }
}

static cse_attention_scores scores_of(const cse_attention_kernel *kernel, const gradient_scratch *g,
                                      const score_block *block)
{
    const int64_t at = block->query - block->range->first, key = block->range->key + block->row;
    const int64_t columns =
        cse_attention_round_up(cse_attention_filled_up(kernel, block->queries), LANES);
    const int64_t weights = block->row * 2 * g->weight_stride + at;
    const bool hides = kernel->causal && key + block->rows > block->query;
    return (cse_attention_scores){
        .scores = g->scores + block->place,
        .gradient = g->change + block->place,
        .stride = g->stride,
        .rows = block->hidden ? 0 : block->rows,
        .columns = columns,
        .first_seen = hides ? key - block->query : -block->rows,
        .spans = cse_spans_from(&g->spans, key),
        .query = block->query,
        .factor = kernel->scale * (float)M_LOG2E,
        .maxima = g->maxima + block->query,
        .reciprocals = g->reciprocals + block->query,
        .means = g->means + block->query,
        .paired = kernel->paired,
        .weights = (uint16_t *)(void *)g->weights + weights,
        .changes = (uint16_t *)(void *)g->changes + weights,
        .paired_stride = 2 * g->weight_stride,
        .turned = g->turned_changes +
                  (cse_attention_by_pairs(kernel) ? at * g->turned_stride + block->row / 2 : at),
        .turned_stride = g->turned_stride,
        .by_query = cse_attention_by_pairs(kernel),
        .hidden_rows = block->hidden ? block->rows : 0
    };
}

/* The products of the scores of `next` and the weights of `block`; NULL: none. */
static void advance(const cse_attention_kernel *kernel, const gradient_scratch *g,
                    const score_block *next, const score_block *block)
{
    const cse_attention_way *way = kernel->way;
    cse_attention_product products[2];
    cse_attention_scores scores;
    const bool multiplies = next != NULL && !next->hidden;
    if (multiplies)
        score_products(kernel, g, next, products);
    if (block != NULL)
        scores = scores_of(kernel, g, block);
    if (multiplies && block != NULL && way->differentiate_beside != NULL) {
        way->differentiate_beside(&scores, products);
        return;
    }
    for (int i = 0; i < 2 && multiplies; i++)
        way->multiply(&products[i]);
    if (block != NULL)
        way->differentiate(&scores);
}

/* A block of queries after another, so that scores are still in the nearest cache when they are
 * turned into weights; in turn with the products of the next block, beside which the processor can
 * work at them. */
static void weigh_chunk(const cse_attention_kernel *kernel, const gradient_scratch *g,
                        const block_range *b)
{
    const int64_t steps = (b->end - b->first + ROWS - 1) / ROWS * ((b->keys + ROWS - 1) / ROWS);
    for (int64_t step = 0; step <= steps; step++) {
        const score_block next = score_block_of(kernel, g, b, step),
                          block = score_block_of(kernel, g, b, step - 1);
        advance(kernel, g, step < steps ? &next : NULL, step > 0 ? &block : NULL);
    }
}

static void add_chunk(const cse_attention_kernel *kernel, const gradient_scratch *g,
                      const cse_attention_operands *o, const block_range *b, bool first)
{
    const cse_attention_sizes *s = &kernel->sizes;
    const int64_t queries = cse_attention_words_of(kernel, s->queries),
                  from = cse_attention_words_of(kernel, b->first);
    cse_attention_product product = { .from = g->weights,
                                      .row_stride = g->weight_stride,
                                      .depth_stride = 1,
                                      .rows = b->keys,
                                      .panel = g->kept_upstream,
                                      .depth = cse_attention_words_of(kernel, b->end - b->first),
                                      .to = g->sums[CSE_ATTENTION_VALUE],
                                      .to_stride = g->strides[CSE_ATTENTION_VALUE],
                                      .first = first };
    if (o->results[CSE_ATTENTION_VALUE] != NULL)
        cse_attention_multiply_kept(kernel, product, s->value, queries, from);
    product.from = g->changes;
    product.panel = g->kept_queries;
    product.to = g->sums[CSE_ATTENTION_KEY];
    product.to_stride = g->strides[CSE_ATTENTION_KEY];
    if (o->results[CSE_ATTENTION_KEY] != NULL)
        cse_attention_multiply_kept(kernel, product, s->head, queries, from);
    product = (cse_attention_product){
        .from = kernel->paired ? g->turned_changes : g->changes,
        .row_stride = cse_attention_by_pairs(kernel) ? g->turned_stride : 1,
        .depth_stride = cse_attention_by_pairs(kernel) ? 1 : g->turned_stride,
        .rows = b->end - b->first,
        .panel = g->kept_keys,
        .depth = cse_attention_words_of(kernel, b->keys),
        .to = g->sums[CSE_ATTENTION_QUERY] + b->first * g->strides[CSE_ATTENTION_QUERY],
        .to_stride = g->strides[CSE_ATTENTION_QUERY],
        .first = b->key == 0 && !cse_attention_has_spans(kernel)
    };
    if (o->results[CSE_ATTENTION_QUERY] != NULL)
        cse_attention_multiply_kept(kernel, product, s->head,
                                    cse_attention_words_of(kernel, b->keys), 0);
}

/* The sums to `rows[1]` rows of the result from rows[0] on. */
static void store_sums(const cse_attention_kernel *kernel, const gradient_scratch *g,
                       const cse_attention_operands *o, int result, const int64_t rows[2])
{
    if (o->results[result] == NULL)
        return;
    const cse_attention_matrix m = result_of(kernel, o, result);
    const char *start = o->results[result];
    char *to = (char *)o->results[result] + (cse_attention_row_at(&m, rows[0]) - start);
    kernel->way->store(
        &(cse_attention_store){ .from = g->sums[result],
                                .factor = result == CSE_ATTENTION_VALUE ? 1 : kernel->scale,
                                .from_stride = g->strides[result],
                                .positive = cse_attention_by_pairs(kernel),
                                .rows = rows[1],
                                .columns = m.columns,
                                .dtype = m.dtype,
                                .to = to,
                                .to_stride = m.stride });
}

/* Begins to load what the next head needs of these rows, and where this head's results go. */
static void prefetch_block(const cse_attention_kernel *kernel, const cse_attention_operands *o,
                           const cse_attention_operands *next, int64_t first)
{
    const cse_attention_sizes *s = &kernel->sizes;
    const int64_t block_end = first + key_block(kernel);
    const int64_t end = block_end >= s->keys ? s->queries : block_end;
    cse_attention_prefetch_rows(&next->keys, first, block_end, false);
    cse_attention_prefetch_rows(&next->values, first, block_end, false);
    cse_attention_prefetch_rows(&next->queries, first, end, false);
    cse_attention_prefetch_rows(&next->output, first, end, false);
    cse_attention_prefetch_rows(&next->upstream, first, end, false);
    for (int i = 0; i < CSE_ATTENTION_GRADIENTS; i++)
        if (o->results[i] != NULL) {
            const cse_attention_matrix m = result_of(kernel, o, i);
            cse_attention_prefetch_rows(&m, first, i == CSE_ATTENTION_QUERY ? end : block_end,
                                        true);
        }
}

/* The keys from `key` on, with all queries that see one of them. */
static void gradient_block(const cse_attention_kernel *kernel, const gradient_scratch *g,
                           const cse_attention_operands *o, int64_t key)
{
    const cse_attention_sizes *s = &kernel->sizes;
    const int64_t left = s->keys - key,
                  rows[2] = { key, cse_attention_least(left, key_block(kernel)) };
    int64_t queries[2] = { kernel->causal ? key : 0, s->queries };
    if (cse_attention_has_spans(kernel))
        cse_spans_narrow_queries(&g->spans, key, rows[1], queries);
    const int64_t start = queries[0];
    cse_attention_pack_rows(kernel, &o->keys, key, rows[1], g->key_rows);
    cse_attention_pack_rows(kernel, &o->values, key, rows[1], g->value_rows);
    cse_attention_pack_kept(kernel, &o->keys, key, rows[1], g->kept_keys);
    for (int64_t first = start; first < queries[1]; first += query_chunk(kernel)) {
        const int64_t end = cse_attention_least(first + query_chunk(kernel), queries[1]);
        const block_range range = { key, rows[1], first, end };
        weigh_chunk(kernel, g, &range);
        add_chunk(kernel, g, o, &range, first == start);
    }
    for (int i = CSE_ATTENTION_KEY; i <= CSE_ATTENTION_VALUE; i++) {
        if (start >= queries[1]) /* no query sees these keys */
            memset(g->sums[i], 0, (size_t)(rows[1] * g->strides[i]) * sizeof(float));
        store_sums(kernel, g, o, i, rows);
    }
}

void cse_attention_run_gradient(cse_kernel *base, const void *const inputs[], void *output)
{
    const cse_attention_kernel *kernel = (const cse_attention_kernel *)base;
    const cse_attention_sizes *s = &kernel->sizes;
    const int64_t count = s->batch * s->heads;
    cse_attention_allotment scratch = { cse_scratch_view(kernel->scratch), 0 };
    const gradient_scratch g = lay_out_gradient(kernel, &scratch);
    cse_attention_begin_way(kernel);
    for (int64_t head = 0; head < count; head++) {
        cse_attention_operands o = gradient_operands_of(kernel, inputs, head);
        const cse_attention_operands next =
            gradient_operands_of(kernel, inputs, head + 1 < count ? head + 1 : head);
        o.results = output;
        prepare_head(kernel, &g, &o);
        for (int64_t key = 0; key < s->keys; key += key_block(kernel)) {
            prefetch_block(kernel, &o, &next, key);
            gradient_block(kernel, &g, &o, key);
        }
        store_sums(kernel, &g, &o, CSE_ATTENTION_QUERY, (int64_t[]){ 0, s->queries });
    }
    cse_attention_end_way(kernel);
}

int64_t cse_attention_gradient_floats(const cse_attention_kernel *kernel)
{
    cse_attention_allotment count = { NULL, 0 };
    (void)lay_out_gradient(kernel, &count);
    return count.floats;
}

/* The attention of one token to keys and values in pages; see engine/graph/ops/paged_attention.c.
 *
 * Heads of q that share a head of keys are rows of one product. The page that the token falls into
 * is copied and completed with its own key and value; all others are multiplied where they lie. In
 * bfloat16 a page is rounded and paired before it is multiplied. Sums go through pages in order, by
 * the functions of attention.h, so that the bits are those of fused_attention. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"
#include "engine/code/kernels/attention.h"
#include "engine/code/kernels/convert.h"
#include "engine/code/kernels/plan.h"
#include "engine/code/kernels/product_order.h"
#include "engine/code/kernels/scratch.h"
#include "engine/graph/trace/attention_pages.h"

enum { TOKENS = CSE_PAGE_TOKENS, LANES = CSE_PAGE_LANES };
/* Products of a call below which it is not divided. */
enum { LEAST_DIVIDED = 1 << 16 };

typedef struct paged_kernel {
    cse_kernel base;
    const cse_attention_way *way;
    int operands[CSE_PAGED_INPUTS];
    int64_t batch, heads, kept, head, value, pages;
    cse_dtype dtype;
    cse_product_order order;
    bool paired;
    float scale;
    cse_scratch *scratch;
} paged_kernel;

typedef struct paged_run {
    const paged_kernel *kernel;
    const void *const *inputs;
    void *output;
} paged_run;

/* Of one member: q as rows, its own key and value, the page that is completed, a page that is
 * paired, scores, and the output. */
typedef struct places {
    float *queries, *row, *keys, *values, *paired, *scores, *output, *statistics;
    uint16_t *halves;
    int64_t score_stride;
} places;

static int64_t up(int64_t size, int64_t unit)
{
    return (size + unit - 1) / unit * unit;
}

/* `size` elements along the depth of a product, filled up with zeros as the order wants it. */
static int64_t filled_up(const paged_kernel *kernel, int64_t size)
{
    return up(size, kernel->order == CSE_PRODUCT_ORDER_PAIRS ? CSE_ATTENTION_STEPS
                    : kernel->paired                         ? 2
                                                             : 1);
}

static int64_t words_of(const paged_kernel *kernel, int64_t size)
{
    return filled_up(kernel, size) / (kernel->paired ? 2 : 1);
}

static int64_t largest_page(const paged_kernel *kernel)
{
    const int64_t keys = cse_page_key_words(filled_up(kernel, kernel->head)),
                  values = cse_page_value_words(kernel->value);
    return keys > values ? keys : values;
}

static float *take(float *start, int64_t *floats, int64_t count)
{
    float *place = start != NULL ? start + *floats : NULL;
    *floats += up(count, LANES);
    return place;
}

/* Returns the floats; with a NULL start it only counts. */
static int64_t lay_out(const paged_kernel *kernel, float *start, places *p)
{
    const int64_t rows = kernel->heads / kernel->kept, page = largest_page(kernel);
    const int64_t widest = kernel->head > kernel->value ? kernel->head : kernel->value;
    int64_t floats = 0;
    p->score_stride = up(kernel->pages * TOKENS, 2 * LANES) + LANES;
    p->queries = take(start, &floats, rows * words_of(kernel, kernel->head));
    p->row = take(start, &floats, rows * widest);
    p->keys = take(start, &floats, cse_page_key_words(kernel->head));
    p->values = take(start, &floats, cse_page_value_words(kernel->value));
    p->paired = take(start, &floats, page);
    p->halves = (uint16_t *)(void *)take(start, &floats, page);
    p->scores = take(start, &floats, rows * p->score_stride);
    p->output = take(start, &floats, rows * cse_page_columns(kernel->value));
    p->statistics = take(start, &floats, 2 * rows);
    return floats;
}

/* ---- operands ---- */

/* Elements [at, at + count) of an operand of the op's type, as float32. */
static void read_floats(const paged_kernel *kernel, const void *from, int64_t at, int64_t count,
                        float *to)
{
    if (kernel->dtype == CSE_FLOAT32)
        memcpy(to, (const float *)from + at, (size_t)count * sizeof *to);
    else
        cse_widen(kernel->dtype, (const uint16_t *)from + at, to, count);
}

/* Rows of q, paired where products are. */
static void read_queries(const paged_kernel *kernel, const void *q, int64_t first, int64_t rows,
                         const places *p)
{
    const int64_t head = kernel->head;
    float *to = kernel->paired ? p->row : p->queries;
    read_floats(kernel, q, first * head, rows * head, to);
    for (int64_t r = 0; r < rows && kernel->paired; r++) {
        uint16_t *pairs = (uint16_t *)(void *)(p->queries + r * words_of(kernel, head));
        cse_narrow(kernel->dtype, p->row + r * head, pairs, head);
        memset(pairs + head, 0, (size_t)(filled_up(kernel, head) - head) * sizeof *pairs);
    }
}

/* Pairs of rows [count][width] of float32, filled up: [words of count][width]. */
static const float *paired(const paged_kernel *kernel, const places *p, const float *from,
                           const int64_t sizes[2], float *to)
{
    const int64_t count = sizes[0], width = sizes[1];
    cse_narrow(CSE_BFLOAT16, from, p->halves, count * width);
    if (count % 2 != 0)
        memset(p->halves + count * width, 0, (size_t)width * sizeof *p->halves);
    for (int64_t r = 0; r < count; r += 2)
        kernel->way->interleave(p->halves + r * width, p->halves + (r + 1) * width, width,
                                (uint32_t *)(void *)(to + r / 2 * width));
    const int64_t words = (count + 1) / 2, filled = words_of(kernel, count);
    memset(to + words * width, 0, (size_t)((filled - words) * width) * sizeof *to);
    return to;
}

/* One sequence and one head of its keys and values. */
typedef struct sequence {
    const int32_t *pages;
    int64_t past, batch, kept, rows;
} sequence;

/* The head's keys in page `page` of the sequence. */
static const float *page_of(const paged_run *r, const sequence *s, int64_t page, int input,
                            int64_t words)
{
    const float *pool = r->inputs[r->kernel->operands[input]];
    return pool + ((int64_t)s->pages[page] * r->kernel->kept + s->kept) * words;
}

/* The last page, with the token's own key and value. */
static void complete(const paged_run *r, const sequence *s, const places *p)
{
    const paged_kernel *kernel = r->kernel;
    const int64_t last = s->past / TOKENS, token = s->past % TOKENS;
    const int64_t row = s->batch * kernel->kept + s->kept;
    const int64_t key_words = cse_page_key_words(kernel->head),
                  value_words = cse_page_value_words(kernel->value);
    memcpy(p->keys, page_of(r, s, last, CSE_PAGED_KEYS, key_words),
           (size_t)key_words * sizeof *p->keys);
    memcpy(p->values, page_of(r, s, last, CSE_PAGED_VALUES, value_words),
           (size_t)value_words * sizeof *p->values);
    read_floats(kernel, r->inputs[kernel->operands[CSE_PAGED_KEY]], row * kernel->head,
                kernel->head, p->row);
    for (int64_t c = 0; c < kernel->head; c++)
        p->keys[cse_page_key_at(token, c)] = p->row[c];
    read_floats(kernel, r->inputs[kernel->operands[CSE_PAGED_VALUE]], row * kernel->value,
                kernel->value, p->row);
    for (int64_t c = 0; c < kernel->value; c++)
        p->values[cse_page_value_at(kernel->value, token, c)] = p->row[c];
}

/* ---- one head ---- */

static void score(const paged_run *r, const sequence *s, const places *p)
{
    const paged_kernel *kernel = r->kernel;
    const int64_t depth = words_of(kernel, kernel->head), last = s->past / TOKENS;
    for (int64_t page = 0; page <= last; page++) {
        const float *keys =
            page == last ? p->keys
                         : page_of(r, s, page, CSE_PAGED_KEYS, cse_page_key_words(kernel->head));
        if (kernel->paired)
            keys = paired(kernel, p, keys, (int64_t[]){ kernel->head, TOKENS }, p->paired);
        kernel->way->multiply(&(cse_attention_product){ .from = p->queries,
                                                        .row_stride = depth,
                                                        .depth_stride = 1,
                                                        .rows = s->rows,
                                                        .panel = keys,
                                                        .depth = depth,
                                                        .width = TOKENS,
                                                        .to = p->scores + page * TOKENS,
                                                        .to_stride = p->score_stride,
                                                        .first = true });
    }
    kernel->way->softmax(
        &(cse_attention_softmax){ .scores = p->scores,
                                  .stride = p->score_stride,
                                  .rows = s->rows,
                                  .seen = s->past + 1,
                                  .most = s->past + 1,
                                  .filled = up(filled_up(kernel, s->past + 1), LANES),
                                  .factor = kernel->scale * (float)M_LOG2E,
                                  .paired = kernel->paired,
                                  .maxima = p->statistics,
                                  .reciprocals = p->statistics + s->rows });
}

static void average(const paged_run *r, const sequence *s, const places *p)
{
    const paged_kernel *kernel = r->kernel;
    const int64_t last = s->past / TOKENS, columns = cse_page_columns(kernel->value);
    for (int64_t page = 0; page <= last; page++) {
        const float *values = page == last ? p->values
                                           : page_of(r, s, page, CSE_PAGED_VALUES,
                                                     cse_page_value_words(kernel->value));
        const int64_t seen = page == last ? s->past % TOKENS + 1 : TOKENS;
        for (int64_t column = 0; column < columns; column += CSE_PAGE_PANEL) {
            const int64_t width = cse_page_panel(kernel->value, column);
            const float *panel = values + column * TOKENS;
            if (kernel->paired)
                panel = paired(kernel, p, panel, (int64_t[]){ seen, width }, p->paired);
            kernel->way->multiply(
                &(cse_attention_product){ .from = p->scores + words_of(kernel, page * TOKENS),
                                          .row_stride = p->score_stride,
                                          .depth_stride = 1,
                                          .rows = s->rows,
                                          .panel = panel,
                                          .depth = words_of(kernel, seen),
                                          .width = width,
                                          .to = p->output + column,
                                          .to_stride = columns,
                                          .first = page == 0 });
        }
    }
}

/* The last rounding of fused_attention, or of float32 to a type that it does not have. */
static void store(const paged_run *r, const sequence *s, const places *p)
{
    const paged_kernel *kernel = r->kernel;
    const bool stored = kernel->dtype == CSE_FLOAT32 || kernel->dtype == CSE_BFLOAT16;
    const int64_t first = (s->batch * kernel->heads + s->kept * s->rows) * kernel->value;
    char *to = (char *)r->output + (size_t)first * cse_dtype_size(kernel->dtype);
    kernel->way->store(&(cse_attention_store){ .from = p->output,
                                               .factors = p->statistics + s->rows,
                                               .from_stride = cse_page_columns(kernel->value),
                                               .positive = kernel->order == CSE_PRODUCT_ORDER_PAIRS,
                                               .rows = s->rows,
                                               .columns = kernel->value,
                                               .dtype = stored ? kernel->dtype : CSE_FLOAT32,
                                               .to = stored ? (void *)to : p->row,
                                               .to_stride = kernel->value });
    if (!stored)
        cse_narrow(kernel->dtype, p->row, to, s->rows * kernel->value);
}

static void run_heads(void *run, int member, int64_t first, int64_t end)
{
    const paged_run *r = run;
    const paged_kernel *kernel = r->kernel;
    const int32_t *table = r->inputs[kernel->operands[CSE_PAGED_TABLE]];
    places p;
    const size_t bytes = (size_t)lay_out(kernel, NULL, &p) * sizeof(float);
    (void)lay_out(kernel,
                  member == 0 ? cse_scratch_view(kernel->scratch)
                              : cse_thread_team_scratch(kernel->base.team, member, bytes),
                  &p);
    for (int64_t i = first; i < end; i++) {
        const int64_t batch = i / kernel->kept;
        const int32_t *row = table + batch * (kernel->pages + 1);
        const sequence s = { row + 1, row[0], batch, i % kernel->kept,
                             kernel->heads / kernel->kept };
        read_queries(kernel, r->inputs[kernel->operands[CSE_PAGED_QUERY]],
                     batch * kernel->heads + s.kept * s.rows, s.rows, &p);
        complete(r, &s, &p);
        score(r, &s, &p);
        average(r, &s, &p);
        store(r, &s, &p);
    }
}

static void run(cse_kernel *base, const void *const inputs[], void *output)
{
    const paged_kernel *kernel = (const paged_kernel *)base;
    const int32_t *table = inputs[kernel->operands[CSE_PAGED_TABLE]];
    paged_run r = { kernel, inputs, output };
    int64_t tokens = kernel->batch;
    for (int64_t b = 0; b < kernel->batch; b++)
        tokens += table[b * (kernel->pages + 1)];
    const bool small = tokens * kernel->heads * (kernel->head + kernel->value) < LEAST_DIVIDED;
    cse_thread_team_divide(small ? NULL : base->team,
                           &(cse_team_job){ run_heads, &r, kernel->batch * kernel->kept, 1 });
}

/* ---- making kernels ---- */

static void destroy(cse_kernel *base)
{
    cse_scratch_release(&((paged_kernel *)base)->scratch);
    free(base);
}

cse_status cse_kernel_new_paged_attention(const cse_kernel_plan *plan, cse_kernel **result)
{
    const cse_node *node = plan->product;
    const cse_dtype dtype = plan->operand_dtypes[0];
    paged_kernel *kernel = cse_calloc(1, sizeof *kernel);
    *kernel = (paged_kernel){ .base = { .run = run, .destroy = destroy },
                              .batch = node->shape.dims[0],
                              .heads = node->shape.dims[1],
                              .kept = node->inputs[CSE_PAGED_KEY]->shape.dims[1],
                              .head = node->inputs[CSE_PAGED_QUERY]->shape.dims[3],
                              .value = node->shape.dims[3],
                              .pages = node->inputs[CSE_PAGED_TABLE]->shape.dims[1] - 1,
                              .dtype = dtype,
                              .paired = dtype == CSE_BFLOAT16,
                              .scale = (float)node->attributes.numbers[0] };
    kernel->order = cse_attention_order(plan->graph, dtype);
    kernel->way = cse_attention_choose_way(kernel->order, false);
    kernel->base.implementation = kernel->way->name;
    if (kernel->order == CSE_PRODUCT_ORDER_PAIRS)
        kernel->base.order = cse_product_order_name(kernel->order);
    for (int i = 0; i < CSE_PAGED_INPUTS; i++)
        kernel->operands[i] = plan->operands[i];
    places p;
    kernel->scratch =
        cse_scratch_share(plan->graph, (size_t)lay_out(kernel, NULL, &p) * sizeof(float));
    *result = &kernel->base;
    return CSE_OK;
}

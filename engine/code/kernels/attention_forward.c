/* Attention and its gradients without a stored value for each pair of a query and a key.
 *
 * Heads are computed one after another. Forward: of 32 queries at a time, all scores, which are
 * turned into weights in place and multiplied by the values. Gradient: of 32 keys at a time (of 64
 * in the order `pairs`) and the queries in chunks, scores and weights again, keys as rows, so that
 * the gradients of keys and values need nothing transposed; that of the queries is added up over
 * the keys. Blocks in which every key comes after every query are left out where the attention is
 * causal, and of keys that only a span of the queries sees those before the first and after the
 * last of it.
 *
 * The order of every sum is that of the head's elements, of the keys, or of the queries
 * (attention.h), whatever the blocks are, all of which begin at a multiple of 32; a pair that is
 * hidden has the weight 0, which changes no sum. So the bits depend on the operands alone. */
#include "engine/code/kernels/attention.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"
#include "engine/code/kernels/attention_parts.h"
#include "engine/code/kernels/product_order.h"

enum { LANES = 16, ROWS = CSE_ATTENTION_TURNED_COLUMNS /* queries of a block */ };

/* ---- forward ---- */

typedef struct forward_scratch {
    float *keys, *values; /* turned; kept */
    float *queries, *scores, *output, *maxima, *reciprocals;
    cse_packed_spans spans;
    int64_t stride, output_stride;
} forward_scratch;

static forward_scratch lay_out_forward(const cse_attention_kernel *kernel,
                                       cse_attention_allotment *from)
{
    const cse_attention_sizes *s = &kernel->sizes;
    forward_scratch f = { .stride = cse_attention_stride_of(s->keys),
                          .output_stride = cse_attention_round_up(s->value, LANES) };
    f.keys = cse_attention_take(from, cse_attention_turned_floats(kernel, s->keys, s->head));
    f.values = cse_attention_take(from, cse_attention_kept_floats(kernel, s->keys, s->value));
    f.queries = cse_attention_take(from, ROWS * cse_attention_words_of(kernel, s->head));
    f.scores = cse_attention_take(from, ROWS * f.stride);
    f.output = cse_attention_take(from, ROWS * f.output_stride);
    f.maxima = cse_attention_take(from, ROWS);
    f.reciprocals = cse_attention_take(from, ROWS);
    f.spans = cse_attention_lay_out_spans(kernel, from);
    return f;
}

static void store_output(const cse_attention_kernel *kernel, const forward_scratch *f,
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
                                               .positive = cse_attention_by_pairs(kernel),
                                               .rows = rows,
                                               .columns = s->value,
                                               .dtype = dtype,
                                               .to = output + at * (int64_t)cse_dtype_size(dtype),
                                               .to_stride = s->heads * s->value });
}

/* Queries from `first` on. */
static void forward_block(const cse_attention_kernel *kernel, const forward_scratch *f,
                          const cse_attention_operands *o, int64_t first, void *const results[])
{
    const cse_attention_sizes *s = &kernel->sizes;
    const int64_t place[3] = { o->place[0], o->place[1], first };
    const int64_t left = s->queries - first, rows = left < ROWS ? left : ROWS;
    int64_t keys[2] = { 0, kernel->causal && first + rows < s->keys ? first + rows : s->keys };
    if (cse_attention_has_spans(kernel))
        cse_spans_narrow_keys(&f->spans, first, first + rows, keys);
    const int64_t seen = keys[1] - keys[0];
    cse_attention_pack_rows(kernel, &o->queries, first, rows, f->queries);
    cse_attention_multiply_turned(
        kernel, &(cse_attention_turned_product){ .rows = f->queries,
                                                 .row_count = rows,
                                                 .depth = cse_attention_words_of(kernel, s->head),
                                                 .turned = f->keys,
                                                 .first = keys[0],
                                                 .end = keys[1],
                                                 .to = f->scores,
                                                 .stride = f->stride });
    kernel->way->softmax(&(cse_attention_softmax){
        .scores = f->scores,
        .stride = f->stride,
        .rows = rows,
        .seen = kernel->causal ? first + 1 - keys[0] : seen,
        .seen_step = kernel->causal,
        .most = seen,
        .filled = cse_attention_round_up(cse_attention_filled_up(kernel, seen), LANES),
        .factor = kernel->scale * (float)M_LOG2E,
        .paired = kernel->paired,
        .spans = cse_spans_from(&f->spans, keys[0]),
        .query = (int32_t)first,
        .maxima = f->maxima,
        .reciprocals = f->reciprocals });
    if (results[CSE_ATTENTION_OUTPUT] != NULL)
        cse_attention_multiply_kept(
            kernel,
            (cse_attention_product){ .from = f->scores,
                                     .row_stride = f->stride,
                                     .depth_stride = 1,
                                     .rows = rows,
                                     .panel = f->values,
                                     .depth = cse_attention_words_of(kernel, seen),
                                     .to = f->output,
                                     .to_stride = f->output_stride,
                                     .first = true },
            s->value, cse_attention_words_of(kernel, s->keys),
            cse_attention_words_of(kernel, keys[0]));
    store_output(kernel, f, place, rows, results);
}

typedef struct forward_run {
    const cse_attention_kernel *kernel;
    const void *const *inputs;
    void *output;
} forward_run;

/* Heads [begin, end). While a head is computed, the operands of the next one are loaded. */
static void forward_heads(void *run, int member, int64_t begin, int64_t end)
{
    const forward_run *r = run;
    const cse_attention_kernel *kernel = r->kernel;
    const cse_attention_sizes *s = &kernel->sizes;
    void *output = r->output;
    cse_attention_allotment scratch = { NULL, 0 };
    (void)lay_out_forward(kernel, &scratch);
    scratch.start = member == 0 ? cse_scratch_view(kernel->scratch)
                                : cse_thread_team_scratch(kernel->base.team, member,
                                                          (size_t)scratch.floats * sizeof(float));
    scratch.floats = 0;
    const forward_scratch f = lay_out_forward(kernel, &scratch);
    cse_attention_begin_way(kernel);
    for (int64_t head = begin; head < end; head++) {
        const cse_attention_operands now = cse_attention_operands_of(kernel, r->inputs, head);
        const cse_attention_operands next =
            cse_attention_operands_of(kernel, r->inputs, head + 1 < end ? head + 1 : head);
        kernel->way->pack_turned(&now.keys, cse_attention_words_of(kernel, s->head), f.keys);
        cse_attention_pack_kept(kernel, &now.values, 0, s->keys, f.values);
        cse_attention_pack_spans(kernel, now.spans, &f.spans);
        for (int64_t first = 0; first < s->queries; first += ROWS) {
            const bool last = first + ROWS >= s->queries;
            cse_attention_prefetch_rows(&next.queries, first, first + ROWS, false);
            cse_attention_prefetch_rows(&next.keys, first, last ? s->keys : first + ROWS, false);
            cse_attention_prefetch_rows(&next.values, first, last ? s->keys : first + ROWS, false);
            forward_block(kernel, &f, &now, first, output);
        }
    }
    cse_attention_end_way(kernel);
}

static void run_forward(cse_kernel *base, const void *const inputs[], void *output)
{
    const cse_attention_kernel *kernel = (const cse_attention_kernel *)base;
    forward_run r = { kernel, inputs, output };
    const int64_t heads = kernel->sizes.batch * kernel->sizes.heads;
    cse_thread_team_divide(base->team, &(cse_team_job){ forward_heads, &r, heads, 1 });
}

/* ---- making kernels ---- */

static void destroy(cse_kernel *base)
{
    cse_attention_kernel *kernel = (cse_attention_kernel *)base;
    cse_scratch_release(&kernel->scratch);
    free(kernel);
}

/* The operands are `products` matrices of head or value; the mask hides half of the pairs of a
 * square. */
static double flops_of(const cse_attention_kernel *kernel, double by_head, double by_value)
{
    const cse_attention_sizes *s = &kernel->sizes;
    double pairs = 0;
    for (int64_t i = 0; i < s->queries; i++)
        pairs += (double)(kernel->causal && i + 1 < s->keys ? i + 1 : s->keys);
    return 2 * pairs * (double)(s->batch * s->heads) *
           (by_head * (double)s->head + by_value * (double)s->value);
}

/* `inputs`: of the op without spans. */
static cse_status new_attention(const cse_kernel_plan *plan, int inputs,
                                cse_attention_kernel **result)
{
    char text[256];
    cse_attention_kernel *kernel;
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
    *kernel = (cse_attention_kernel){ .base = { .destroy = destroy },
                                      .sizes = cse_attention_sizes_of_node(plan->product),
                                      .dtype = dtype,
                                      .causal = attributes->integers[CSE_ATTENTION_CAUSAL] != 0,
                                      .paired = dtype == CSE_BFLOAT16,
                                      .scale = (float)attributes->numbers[CSE_ATTENTION_SCALE] };
    kernel->order = cse_attention_order(plan->graph, dtype);
    kernel->way = cse_attention_choose_way(kernel->order, true);
    kernel->base.implementation = kernel->way->name;
    if (cse_attention_by_pairs(kernel)) /* of the others each type has one */
        kernel->base.order = cse_product_order_name(kernel->order);
    for (int i = 0; i < inputs; i++)
        kernel->operands[i] = plan->operands[i];
    kernel->spans = plan->product->input_count > inputs ? plan->operands[inputs] : -1;
    if (cse_attention_has_spans(kernel) && plan->product->inputs[inputs]->shape.dims[0] > 1)
        kernel->spans_stride = 2 * kernel->sizes.keys;
    for (int r = 0; r < CSE_MAX_RESULTS; r++)
        kernel->result_dtypes[r] = plan->results[r] != NULL ? plan->results[r]->dtype : dtype;
    *result = kernel;
    return CSE_OK;
}

static void share_scratch(const cse_kernel_plan *plan, cse_attention_kernel *kernel, int64_t floats)
{
    kernel->scratch = cse_scratch_share(plan->graph, (size_t)floats * sizeof(float));
}

cse_status cse_kernel_new_attention(const cse_kernel_plan *plan, cse_kernel **result)
{
    cse_attention_kernel *kernel;
    cse_attention_allotment count = { NULL, 0 };
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
    cse_attention_kernel *kernel;
    CSE_TRY(new_attention(plan, CSE_ATTENTION_INPUTS, &kernel));
    kernel->output_dtype = plan->operand_dtypes[CSE_ATTENTION_OF_OUTPUT];
    kernel->base.run = cse_attention_run_gradient;
    kernel->base.flops = flops_of(kernel,
                                  1 + (plan->results[CSE_ATTENTION_QUERY] != NULL) +
                                      (plan->results[CSE_ATTENTION_KEY] != NULL),
                                  1 + (plan->results[CSE_ATTENTION_VALUE] != NULL));
    share_scratch(plan, kernel, cse_attention_gradient_floats(kernel));
    *result = &kernel->base;
    return CSE_OK;
}

/* The kernels of fused attention: against softmax attention and its gradients in double, over
 * shapes with odd sizes; every way of computing them has the same bits, wherever the operands lie;
 * large scores, hidden keys, spans of queries, and values that are not finite. */
#include <check.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "csengine/generated/ops.h"
#include "engine/base/random.h"
#include "engine/code/execute/execute.h"
#include "engine/code/kernels/kernel.h"
#include "engine/graph/trace/arguments.h"
#include "engine/graph/trace/attention.h"
#include "engine/graph/trace/trace.h"
#include "tests/support/expect.h"
#include "tests/support/sanitized.h"

enum {
    CASES = SANITIZED ? 12 : 60,
    SHIFT = 64,
    BORDER = 4096,
    SPANS = CSE_ATTENTION_INPUTS,
    OPERANDS
};

typedef struct attention_case {
    cse_attention_sizes s;
    bool causal;
    int64_t spans; /* the samples that have some; 0: none, 1: the same for all */
    cse_dtype dtype, result_dtype;
    cse_product_order order; /* of bfloat16 */
    double magnitude;        /* of q and k */
    uint64_t seed;
} attention_case;

static uint32_t draw(uint64_t seed, uint32_t at)
{
    uint32_t counter[4] = { at, 0, 11, 0 }, words[4];
    cse_philox(seed, counter, words);
    return words[0];
}

static attention_case random_case(int number)
{
    static const int64_t heads[] = { 64, 32, 48, 16, 1, 3, 17, 80, 128, 65 };
    uint64_t seed = 1000 + (uint64_t)number;
    attention_case c = { .causal = draw(seed, 0) % 2 == 0,
                         .dtype = draw(seed, 1) % 3 ? CSE_BFLOAT16 : CSE_FLOAT32,
                         .order = draw(seed, 1) % 3 == 1 ? CSE_PRODUCT_ORDER_DOT
                                                         : CSE_PRODUCT_ORDER_PAIRS,
                         .magnitude = draw(seed, 2) % 4 == 0 ? 30 : 1,
                         .seed = seed };
    c.s.batch = 1 + draw(seed, 3) % 2;
    c.s.heads = 1 + draw(seed, 4) % 3;
    c.s.queries = 1 + (number < 6 ? number : (int64_t)(draw(seed, 5) % 300));
    c.s.keys = draw(seed, 6) % 3 == 0 ? 1 + draw(seed, 7) % 300 : c.s.queries;
    c.s.head = heads[draw(seed, 8) % 10];
    c.s.value = draw(seed, 9) % 3 == 0 ? heads[draw(seed, 10) % 10] : c.s.head;
    c.result_dtype = draw(seed, 11) % 2 ? CSE_FLOAT32 : c.dtype;
    c.spans = number % 2 == 0 ? 0 : draw(seed, 12) % 2 ? 1 : c.s.batch;
    return c;
}

/* What there is of types with their orders. */
enum { KINDS = 3 };

static void set_kind(attention_case *c, int kind)
{
    c->dtype = kind == 0 ? CSE_FLOAT32 : CSE_BFLOAT16;
    c->order = kind == 2 ? CSE_PRODUCT_ORDER_PAIRS : CSE_PRODUCT_ORDER_DOT;
}

/* ---- one run ---- */

typedef struct scene {
    attention_case c;
    cse_graph *graph;
    cse_node *operands[OPERANDS]; /* q, k, v, output, statistics, gradient of the output, spans */
    void *values[OPERANDS];
    void *gradients[CSE_ATTENTION_GRADIENTS];
    double *read[OPERANDS]; /* [time, channel] of the head that is compared; NULL: not read */
} scene;

static int64_t elements_of(const cse_node *node)
{
    return cse_shape_elements(node->shape);
}

static void *values_for(const cse_node *node)
{
    return cse_aligned_calloc((size_t)elements_of(node) * 4 + 64);
}

static void add_operand(scene *s, int number, cse_shape shape, cse_dtype dtype)
{
    cse_attributes attributes = { .integer_count = 1, .integers = { number } };
    s->operands[number] = cse_graph_leaf(s->graph, &cse_op_input, &attributes, shape, dtype);
    s->operands[number]->group = -1;
    s->values[number] = values_for(s->operands[number]);
}

static void fill(scene *s, int number, double magnitude)
{
    const cse_node *node = s->operands[number];
    for (int64_t e = 0; e < elements_of(node); e++) {
        double value = 2 * (double)cse_uniform_from_bits(
                               draw(s->c.seed, 100 + (uint32_t)number * 1000003u + (uint32_t)e)) -
                       1;
        cse_write_element(node->dtype, s->values[number], e, value * magnitude);
    }
}

/* Several samples in a row, each of which sees itself alone; now and then a key that nobody sees,
 * or whose span goes beyond all queries. */
static void fill_spans(scene *s)
{
    const cse_attention_sizes *z = &s->c.s;
    int32_t *spans = s->values[SPANS];
    uint32_t at = 5000;
    for (int64_t b = 0; b < s->c.spans; b++, spans += 2 * z->keys)
        for (int64_t key = 0, begin = 0, end = 0; key < z->keys; key++) {
            if (key == end) {
                begin = end;
                end = key + 1 + draw(s->c.seed, at++) % 90;
            }
            const uint32_t kind = draw(s->c.seed, at++) % 16;
            spans[key] = kind == 0 ? 7 : kind == 1 ? INT32_MIN : (int32_t)begin;
            spans[z->keys + key] = kind == 0 ? 3 : kind == 2 ? INT32_MAX : (int32_t)end;
        }
}

static void open_scene(scene *s, const attention_case *c)
{
    const cse_attention_sizes *z = &c->s;
    *s = (scene){ .c = *c, .graph = cse_graph_new(1, 1) };
    s->graph->product_order = c->order;
    cse_trace_begin(s->graph);
    const cse_shape q = { 4, { z->batch, z->queries, z->heads, z->head } };
    const cse_shape k = { 4, { z->batch, z->keys, z->heads, z->head } };
    const cse_shape v = { 4, { z->batch, z->keys, z->heads, z->value } };
    const cse_shape o = { 4, { z->batch, z->queries, z->heads, z->value } };
    add_operand(s, 0, q, c->dtype);
    add_operand(s, 1, k, c->dtype);
    add_operand(s, 2, v, c->dtype);
    add_operand(s, CSE_ATTENTION_OF_OUTPUT, o, c->result_dtype);
    add_operand(s, CSE_ATTENTION_OF_STATISTICS,
                (cse_shape){ 4, { z->batch, z->heads, 2, z->queries } }, CSE_FLOAT32);
    add_operand(s, CSE_ATTENTION_OF_UPSTREAM, o, c->dtype);
    fill(s, 0, c->magnitude);
    fill(s, 1, c->magnitude);
    fill(s, 2, 1);
    fill(s, CSE_ATTENTION_OF_UPSTREAM, 1);
    if (c->spans > 0) {
        add_operand(s, SPANS, (cse_shape){ 3, { c->spans, 2, z->keys } }, CSE_INT32);
        fill_spans(s);
    }
    for (int i = 0; i < CSE_ATTENTION_GRADIENTS; i++)
        s->gradients[i] = values_for(s->operands[i]);
}

static void close_scene(scene *s)
{
    for (int i = 0; i < OPERANDS; i++)
        free(s->values[i]);
    for (int i = 0; i < CSE_ATTENTION_GRADIENTS; i++)
        free(s->gradients[i]);
    cse_trace_end();
    cse_graph_destroy(&s->graph);
}

static double scale_of(const scene *s)
{
    return 1 / sqrt((double)s->c.s.head);
}

/* The group of the results of which `places` is not NULL. */
static cse_group *add_group(scene *s, const cse_op *op, void *const places[])
{
    cse_graph *graph = s->graph;
    cse_group group = { .kind = CSE_GROUP_LIBRARY };
    group.nodes = cse_arena_alloc(graph->arena, CSE_MAX_RESULTS * sizeof *group.nodes);
    for (int r = 0; r < op->kernel.results; r++) {
        cse_attributes a = { CSE_ATTENTION_INTEGERS,
                             CSE_ATTENTION_NUMBERS,
                             { 0, 0, s->c.causal, 0, r },
                             { 0, 1, scale_of(s) },
                             NULL };
        if (places[r] == NULL)
            continue;
        cse_node *operands[OPERANDS];
        memcpy(operands, s->operands, sizeof operands);
        operands[op->min_inputs] = s->operands[SPANS];
        cse_node *node = cse_trace(op, &a, op->min_inputs + (s->c.spans > 0), operands);
        ck_assert_msg(cse_trace_status(graph) == CSE_OK, "%s", cse_error_message());
        node->group = graph->group_count;
        if (op != &cse_op_fused_attention || r == CSE_ATTENTION_OUTPUT)
            node->dtype = s->c.result_dtype;
        group.nodes[group.node_count++] = node;
    }
    CSE_GROW(graph->groups, graph->group_count, graph->group_capacity);
    graph->groups[graph->group_count] = group;
    return &graph->groups[graph->group_count++];
}

static size_t bytes_of(const cse_node *node)
{
    return (size_t)elements_of(node) * cse_dtype_size(node->dtype);
}

/* Memory for the node with NaNs around it, `shift` times 64 bytes behind a page border. */
static void *surrounded(const cse_node *node, int shift, void **block)
{
    *block = NULL;
    ck_assert_int_eq(posix_memalign(block, BORDER, bytes_of(node) + 2 * BORDER), 0);
    memset(*block, 0xff, bytes_of(node) + 2 * BORDER);
    return (char *)*block + SHIFT * shift;
}

/* Computes the results of which `places` is not NULL, with operands that lie elsewhere for each
 * `shift`, and on another number of threads; nothing else may be written. */
static void run_kernel(scene *s, const cse_op *op, void *const places[], int shift)
{
    cse_node *inputs[OPERANDS];
    void *blocks[OPERANDS], *result_blocks[CSE_MAX_RESULTS], *results[CSE_MAX_RESULTS] = { NULL };
    const void *moved[OPERANDS];
    cse_kernel *kernel;
    const cse_group *group = add_group(s, op, places);
    int count = cse_group_inputs(s->graph, group, inputs, OPERANDS);
    for (int i = 0; i < count; i++)
        moved[i] = memcpy(surrounded(inputs[i], 1 + shift + i, &blocks[i]),
                          s->values[inputs[i]->attributes.integers[0]], bytes_of(inputs[i]));
    for (int n = 0; n < group->node_count; n++)
        results[cse_node_result(group->nodes[n])] =
            surrounded(group->nodes[n], 1 + shift + n, &result_blocks[n]);
    cse_status status = cse_kernel_new(s->graph, group, &kernel);
    ck_assert_msg(status == CSE_OK, "%s", cse_error_message());
    kernel->team = cse_thread_team_new(1 + shift % 3);
    kernel->run(kernel, moved, (void *)results);
    kernel->run(kernel, moved, (void *)results); /* nothing depends on what a run leaves behind */
    cse_thread_team_destroy(&kernel->team);
    cse_kernel_destroy(&kernel);
    for (int n = 0; n < group->node_count; n++) {
        int r = cse_node_result(group->nodes[n]);
        const unsigned char *result = results[r];
        memcpy(places[r], result, bytes_of(group->nodes[n]));
        for (int i = 0; i < SHIFT; i++)
            cse_expect(result[-1 - i] == 0xff &&
                           result[bytes_of(group->nodes[n]) + (size_t)i] == 0xff,
                       "a byte beside result %d was written", r);
        free(result_blocks[n]);
    }
    for (int i = 0; i < count; i++)
        free(blocks[i]);
}

static void run_both(scene *s, int shift)
{
    void *const forward[] = { s->values[CSE_ATTENTION_OF_OUTPUT],
                              s->values[CSE_ATTENTION_OF_STATISTICS] };
    run_kernel(s, &cse_op_fused_attention, forward, shift);
    run_kernel(s, &cse_op_fused_attention_gradient, s->gradients, shift);
}

/* ---- in double ---- */

/* The elements of one head, converted once: each is read for every query or key. */
static void read_head(scene *s, int operand, const int64_t place[3])
{
    const cse_node *node = s->operands[operand];
    const int64_t times = node->shape.dims[1], channels = node->shape.dims[3];
    double *to = s->read[operand] = cse_calloc((size_t)(times * channels), sizeof *to);
    for (int64_t t = 0; t < times; t++) {
        int64_t row = (place[0] * times + t) * node->shape.dims[2] + place[1];
        for (int64_t c = 0; c < channels; c++)
            *to++ = cse_read_element(node->dtype, s->values[operand], row * channels + c);
    }
}

/* Row `i` of operand `a` times row `j` of operand `b`. */
static double product(const scene *s, int a, int64_t i, int b, int64_t j)
{
    const int64_t channels = s->operands[a]->shape.dims[3];
    const double *x = s->read[a] + i * channels, *y = s->read[b] + j * channels;
    double sum = 0;
    for (int64_t c = 0; c < channels; c++)
        sum += x[c] * y[c];
    return sum;
}

static bool is_seen(const scene *s, const int64_t place[3], int64_t key)
{
    const int32_t *spans = s->values[SPANS];
    if (s->c.causal && key > place[2])
        return false;
    if (s->c.spans == 0)
        return true;
    spans += s->c.spans > 1 ? place[0] * 2 * s->c.s.keys : 0;
    return spans[key] <= place[2] && place[2] < spans[s->c.s.keys + key];
}

/* The weights of a query, in double. */
static void weights_of(const scene *s, const int64_t place[3], double *weights)
{
    double maximum = -INFINITY, sum = 0;
    int64_t keys = s->c.s.keys;
    for (int64_t j = 0; j < keys; j++) {
        weights[j] = is_seen(s, place, j) ? product(s, 0, place[2], 1, j) * scale_of(s) : -INFINITY;
        maximum = fmax(maximum, weights[j]);
    }
    for (int64_t j = 0; j < keys; j++)
        sum += weights[j] = weights[j] > -INFINITY ? exp(weights[j] - maximum) : 0;
    for (int64_t j = 0; j < keys; j++)
        weights[j] /= sum > 0 ? sum : 1;
}

/* What a head is compared with: the output and the gradients, and for each a scale of its error:
 * the sum of the absolute terms. */
typedef struct expected {
    double *output, *gradients[3], *output_scale, *gradient_scales[3];
} expected;

static void compute_query(const scene *s, const int64_t place[3], double *rows, const expected *e)
{
    const cse_attention_sizes *z = &s->c.s;
    double *weights = rows, *change = rows + z->keys, mean = 0, size = 0;
    int64_t i = place[2];
    weights_of(s, place, weights);
    for (int64_t j = 0; j < z->keys; j++) {
        change[j] = product(s, CSE_ATTENTION_OF_UPSTREAM, i, 2, j);
        mean += weights[j] * change[j];
        size += weights[j] * fabs(change[j]);
    }
    for (int64_t j = 0; j < z->keys; j++) {
        double d = weights[j] * (change[j] - mean) * scale_of(s);
        /* Each product of the gradient and a value may be off by a rounding of its terms. */
        double t = weights[j] * (fabs(change[j]) + size + sqrt((double)z->value)) * scale_of(s);
        for (int64_t c = 0; c < z->head; c++) {
            double q = s->read[0][i * z->head + c], k = s->read[1][j * z->head + c];
            e->gradients[0][i * z->head + c] += d * k;
            e->gradient_scales[0][i * z->head + c] += t * fabs(k);
            e->gradients[1][j * z->head + c] += d * q;
            e->gradient_scales[1][j * z->head + c] += t * fabs(q);
        }
        for (int64_t c = 0; c < z->value; c++) {
            double v = s->read[2][j * z->value + c];
            double o = s->read[CSE_ATTENTION_OF_UPSTREAM][i * z->value + c];
            e->output[i * z->value + c] += weights[j] * v;
            e->output_scale[i * z->value + c] += weights[j] * fabs(v);
            e->gradients[2][j * z->value + c] += weights[j] * o;
            e->gradient_scales[2][j * z->value + c] += weights[j] * fabs(o);
        }
    }
}

/* Rows of a result of one head, with what they must be. */
typedef struct compared {
    const char *what;
    const void *got;
    int64_t rows, columns;
    const double *wanted, *scales;
    double relative; /* bound of the error, of `scales` */
} compared;

static void compare(const scene *s, const int64_t place[3], const compared *of)
{
    for (int64_t e = 0; e < of->rows * of->columns; e++) {
        int64_t t = e / of->columns, c = e % of->columns;
        int64_t at = ((place[0] * of->rows + t) * s->c.s.heads + place[1]) * of->columns + c;
        double y = cse_read_element(s->c.result_dtype, of->got, at), w = of->wanted[e];
        double unit = s->c.result_dtype == CSE_BFLOAT16 ? 0x1p-8 : 0x1p-24;
        double bound = of->relative * of->scales[e] + 1.01 * unit * fabs(w) + 1e-30;
        cse_expect(fabs(y - w) <= bound,
                   "case %lld, %s, row %lld, column %lld: %.9g, expected %.9g +- %.3g",
                   (long long)s->c.seed, of->what, (long long)t, (long long)c, y, w, bound);
    }
}

static void compare_head(scene *s, int64_t place[3])
{
    static const int read[] = { 0, 1, 2, CSE_ATTENTION_OF_UPSTREAM };
    for (int i = 0; i < 4; i++)
        read_head(s, read[i], place);
    const cse_attention_sizes *z = &s->c.s;
    const int64_t sizes[4] = { z->queries * z->value, z->queries * z->head, z->keys * z->head,
                               z->keys * z->value };
    double *rows = cse_calloc((size_t)z->keys * 2, sizeof *rows), *all[8];
    for (int i = 0; i < 8; i++)
        all[i] = cse_calloc((size_t)sizes[i % 4], sizeof(double));
    const expected e = { all[0], { all[1], all[2], all[3] }, all[4], { all[5], all[6], all[7] } };
    for (place[2] = 0; place[2] < z->queries; place[2]++)
        compute_query(s, place, rows, &e);
    /* A score is a sum of `head` products: roundings of their absolute sum, at most. The weight's
     * relative error is that of the score; sums over the time add a rounding a term. */
    double units = s->c.dtype == CSE_BFLOAT16 ? 0x1p-8 : 0, deep = (double)z->head;
    double score = 0x1p-24 * deep * s->c.magnitude * s->c.magnitude * deep * scale_of(s);
    double sums = 0x1p-24 * (double)(z->keys + z->queries + z->head + 16);
    double output = units + score + sums, gradient = 4 * units + 2 * score + 2 * sums;
    if (s->c.result_dtype == CSE_BFLOAT16)
        gradient += 0x1p-8; /* the mean is taken of the rounded output */
    compare(s, place,
            &(compared){ "output", s->values[CSE_ATTENTION_OF_OUTPUT], z->queries, z->value,
                         e.output, e.output_scale, output });
    static const char *const names[] = { "gradient of q", "gradient of k", "gradient of v" };
    for (int i = 0; i < CSE_ATTENTION_GRADIENTS; i++)
        compare(s, place,
                &(compared){ names[i], s->gradients[i], i == 0 ? z->queries : z->keys,
                             i == 2 ? z->value : z->head, e.gradients[i], e.gradient_scales[i],
                             i == 2 ? output : gradient });
    for (int i = 0; i < 8; i++)
        free(all[i]);
    for (int i = 0; i < OPERANDS; i++) {
        free(s->read[i]);
        s->read[i] = NULL;
    }
    free(rows);
}

START_TEST(is_attention_in_double)
{
    scene s;
    attention_case c = random_case(_i);
    open_scene(&s, &c);
    run_both(&s, 0);
    for (int64_t head = 0; head < c.s.batch * c.s.heads; head++)
        compare_head(&s, (int64_t[]){ head / c.s.heads, head % c.s.heads, 0 });
    close_scene(&s);
}
END_TEST

/* ---- the same bits ---- */

static void compare_bits(const scene *a, const scene *b, const char *what)
{
    for (int i = 0; i < CSE_ATTENTION_INPUTS; i++)
        cse_expect(memcmp(a->values[i], b->values[i],
                          (size_t)elements_of(a->operands[i]) *
                              cse_dtype_size(a->operands[i]->dtype)) == 0,
                   "case %lld, %s: operand %d has other bits", (long long)a->c.seed, what, i);
    for (int i = 0; i < CSE_ATTENTION_GRADIENTS; i++)
        cse_expect(
            memcmp(a->gradients[i], b->gradients[i],
                   (size_t)elements_of(a->operands[i]) * cse_dtype_size(a->c.result_dtype)) == 0,
            "case %lld, %s: gradient %d has other bits", (long long)a->c.seed, what, i);
}

START_TEST(every_way_has_the_same_bits_wherever_the_operands_lie)
{
    static const char *const ways[] = { "amx", "avx512_bf16", "avx512", "avx2", "plain" };
    scene first, other;
    attention_case c = random_case(_i);
    unsetenv("CSE_ATTENTION");
    open_scene(&first, &c);
    run_both(&first, 0);
    for (int w = 0; w < 5; w++) {
        setenv("CSE_ATTENTION", ways[w], 1);
        open_scene(&other, &c);
        run_both(&other, 1 + w * 3);
        compare_bits(&first, &other, ways[w]);
        close_scene(&other);
    }
    unsetenv("CSE_ATTENTION");
    close_scene(&first);
}
END_TEST

/* Each result is the same whether or not the others are computed. */
START_TEST(a_result_by_itself_has_the_same_bits)
{
    scene all, alone;
    attention_case c = random_case(_i + 20);
    open_scene(&all, &c);
    open_scene(&alone, &c);
    run_both(&all, 0);
    for (int r = 0; r < CSE_ATTENTION_RESULTS; r++) {
        void *places[CSE_ATTENTION_RESULTS] = { NULL };
        places[r] = alone.values[CSE_ATTENTION_OF_OUTPUT + r];
        run_kernel(&alone, &cse_op_fused_attention, places, 0);
    }
    for (int r = 0; r < CSE_ATTENTION_GRADIENTS; r++) {
        void *places[CSE_ATTENTION_GRADIENTS] = { NULL };
        places[r] = alone.gradients[r];
        run_kernel(&alone, &cse_op_fused_attention_gradient, places, 0);
    }
    compare_bits(&all, &alone, "alone");
    close_scene(&alone);
    close_scene(&all);
}
END_TEST

/* ---- extreme values ---- */

/* Values of keys that a query does not see are in no sum of its: a sample beside others in a row
 * has the bits that it has alone. */
START_TEST(a_sample_in_a_row_has_the_bits_that_it_has_alone)
{
    enum { FIRST = 45, ALL = 131, HEAD = 32 };
    scene row, alone;
    attention_case c = { .s = { 1, 1, ALL, ALL, HEAD, HEAD },
                         .causal = _i / KINDS != 0,
                         .spans = 1,
                         .result_dtype = CSE_FLOAT32,
                         .magnitude = 1,
                         .seed = 8 };
    set_kind(&c, _i % KINDS);
    open_scene(&row, &c);
    int32_t *spans = row.values[SPANS];
    for (int32_t key = 0; key < ALL; key++) {
        spans[key] = key < FIRST ? 0 : FIRST;
        spans[ALL + key] = key < FIRST ? FIRST : ALL;
    }
    run_both(&row, 0);
    c.spans = 0;
    c.s.queries = c.s.keys = FIRST;
    open_scene(&alone, &c);
    for (int i = 0; i < OPERANDS; i++)
        if (i < 3 || i == CSE_ATTENTION_OF_UPSTREAM)
            memcpy(alone.values[i], row.values[i], bytes_of(alone.operands[i]));
    run_both(&alone, 0);
    ck_assert_mem_eq(row.values[CSE_ATTENTION_OF_OUTPUT], alone.values[CSE_ATTENTION_OF_OUTPUT],
                     FIRST * HEAD * sizeof(float));
    for (int i = 0; i < CSE_ATTENTION_GRADIENTS; i++)
        ck_assert_mem_eq(row.gradients[i], alone.gradients[i], FIRST * HEAD * sizeof(float));
    close_scene(&alone);
    close_scene(&row);
}
END_TEST

/* One key's score is above all others by more than floats can tell: its value is the output, and
 * the scores have no gradient. */
START_TEST(large_scores_choose_one_key)
{
    scene s;
    attention_case c = { .s = { 1, 1, 40, 40, 16, 16 }, .result_dtype = CSE_FLOAT32, .seed = 5 };
    set_kind(&c, _i);
    open_scene(&s, &c);
    for (int64_t t = 0; t < 40; t++)
        for (int64_t d = 0; d < 16; d++) {
            cse_write_element(c.dtype, s.values[0], t * 16 + d, 1e4);
            cse_write_element(c.dtype, s.values[1], t * 16 + d, t == 7 ? 1e4 : -1e4);
        }
    run_both(&s, 0);
    for (int64_t t = 0; t < 40; t++)
        for (int64_t d = 0; d < 16; d++) {
            double v = cse_read_element(c.dtype, s.values[2], 7 * 16 + d);
            double o = cse_read_element(CSE_FLOAT32, s.values[CSE_ATTENTION_OF_OUTPUT], t * 16 + d);
            cse_expect(fabs(o - v) < 1e-30, "output %.9g, not the value %.9g", o, v);
            double q = cse_read_element(CSE_FLOAT32, s.gradients[0], t * 16 + d);
            cse_expect(fabs(q) < 1e-1, "gradient of q is %.9g", q);
        }
    close_scene(&s);
}
END_TEST

/* A key far behind every query does not exist for them, whatever it holds; where it is seen, a NaN
 * stays one. */
START_TEST(hidden_keys_change_nothing)
{
    scene s, with_nan;
    attention_case c = { .s = { 1, 2, 96, 96, 32, 32 },
                         .causal = true,
                         .result_dtype = CSE_FLOAT32,
                         .magnitude = 1,
                         .seed = 6 };
    set_kind(&c, _i);
    open_scene(&s, &c);
    open_scene(&with_nan, &c);
    for (int64_t d = 0; d < 32; d++)
        for (int64_t h = 0; h < 2; h++)
            cse_write_element(c.dtype, with_nan.values[1], (80 * 2 + h) * 32 + d, NAN);
    run_both(&s, 0);
    run_both(&with_nan, 0);
    const float *a = s.values[CSE_ATTENTION_OF_OUTPUT];
    const float *b = with_nan.values[CSE_ATTENTION_OF_OUTPUT];
    ck_assert_mem_eq(a, b, (size_t)80 * 2 * 32 * sizeof(float));
    for (int64_t e = (int64_t)80 * 2 * 32; e < (int64_t)96 * 2 * 32; e++)
        cse_expect(isnan(b[e]), "element %lld is %.9g, not NaN", (long long)e, (double)b[e]);
    close_scene(&with_nan);
    close_scene(&s);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("attention");
    TCase *cases = tcase_create("kernels");
    tcase_set_timeout(cases, 120);
    tcase_add_loop_test(cases, is_attention_in_double, 0, CASES);
    tcase_add_loop_test(cases, every_way_has_the_same_bits_wherever_the_operands_lie, 0, CASES);
    tcase_add_loop_test(cases, a_result_by_itself_has_the_same_bits, 0, 8);
    tcase_add_loop_test(cases, a_sample_in_a_row_has_the_bits_that_it_has_alone, 0, 2 * KINDS);
    tcase_add_loop_test(cases, large_scores_choose_one_key, 0, KINDS);
    tcase_add_loop_test(cases, hidden_keys_change_nothing, 0, KINDS);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}

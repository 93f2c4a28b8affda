/* Times each matrix product of the training steps of two GPT-2 models alone, operands hot, packing
 * included: by our own kernel and by oneDNN, in float32 and with bfloat16 operands, next to the
 * core's register peak measured in between.
 *
 *   W1   6 layers, 6 heads, 384 wide, 8 sequences of 256, vocabulary 256
 *   W2   12 layers, 12 heads, 768 wide, 4 sequences of 64, vocabulary 50257
 *
 *   bench_products [--json] [--rounds N] [--works W1,W2]
 *
 * Rounds are interleaved, so that other load affects all equally; the medians of times and of
 * shares of the peak are shown. Times are processor time, which excludes others on the core.
 * `times` is how often a step runs the product; the sums weigh by it. oneDNN stores weight
 * gradients and attention scores as bfloat16, where ours are float32: it has no such kernel. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine/base/arena.h"
#include "engine/base/random.h"
#include "engine/code/kernels/kernel.h"
#include "engine/graph/trace/arguments.h"
#include "engine/graph/trace/trace.h"
#include "run/measure/machine_limits.h"

enum { MOST_PRODUCTS = 64, MOST_ROUNDS = 99, TYPES = 2, KINDS = 2, PEAK_TRIES = 3 };

typedef struct bench_product {
    const char *work, *name, *pass;
    int64_t batches, m, n, k;
    bool transpose_a, transpose_b;
    bool wide; /* the result is float32 whatever the operands are */
    int times;
} bench_product;

static const struct work {
    const char *name;
    int64_t layers, heads, width, time, batch, vocabulary;
} works[] = { { "W1", 6, 6, 384, 256, 8, 256 }, { "W2", 12, 12, 768, 64, 4, 50257 } };

static const cse_dtype types[TYPES] = { CSE_FLOAT32, CSE_BFLOAT16 };
static const char *const kinds[KINDS] = { "", "onednn" };

typedef struct measured {
    cse_graph *graph;
    cse_node *node;
    cse_kernel *kernel; /* NULL: there is none */
    void *values[2], *output;
    double rates[MOST_ROUNDS], shares[MOST_ROUNDS]; /* GFLOP/s, and of the peak in that round */
} measured;

typedef struct bench {
    bench_product products[MOST_PRODUCTS];
    int count, rounds;
    measured all[MOST_PRODUCTS][TYPES][KINDS];
    double peaks[TYPES];
} bench;

/* ---- the products of a step ---- */

static void add(bench *b, bench_product product)
{
    b->products[b->count++] = product;
}

/* A linear layer: y = x W', dx = dy W, dW = dy' x. */
static void add_linear(bench *b, const struct work *w, const char *name, const int64_t sizes[2],
                       int64_t times)
{
    const int64_t rows = w->batch * w->time, in = sizes[0], out = sizes[1];
    const int count = (int)times;
    add(b,
        (bench_product){ w->name, name, "forward", 1, rows, out, in, false, true, false, count });
    add(b, (bench_product){ w->name, name, "input", 1, rows, in, out, false, false, false, count });
    add(b, (bench_product){ w->name, name, "weight", 1, out, in, rows, true, false, true, count });
}

/* S = Q K', O = P V, and the gradients dV = P' dO, dP = dO V', dQ = dS K, dK = dS' Q, which have
 * the shapes of O (transposed), S, O and O (transposed). */
static void add_attention(bench *b, const struct work *w)
{
    const int64_t heads = w->batch * w->heads, time = w->time, head = w->width / w->heads;
    const int layers = (int)w->layers;
    add(b, (bench_product){ w->name, "attention Q K'", "forward, input", heads, time, time, head,
                            false, true, true, 2 * layers });
    add(b, (bench_product){ w->name, "attention P V", "forward, input", heads, time, head, time,
                            false, false, false, 2 * layers });
    add(b, (bench_product){ w->name, "attention P' dO", "input", heads, time, head, time, true,
                            false, false, 2 * layers });
}

static void add_work(bench *b, const struct work *w)
{
    add_linear(b, w, "query, key, value, output", (int64_t[]){ w->width, w->width }, 4 * w->layers);
    add_linear(b, w, "feed-forward in", (int64_t[]){ w->width, 4 * w->width }, w->layers);
    add_linear(b, w, "feed-forward out", (int64_t[]){ 4 * w->width, w->width }, w->layers);
    add_linear(b, w, "head", (int64_t[]){ w->width, w->vocabulary }, 1);
    add_attention(b, w);
}

/* ---- one product ---- */

static cse_node *operand(measured *m, int index, cse_shape shape, cse_dtype dtype)
{
    const cse_attributes attributes = { .integer_count = 1, .integers = { index } };
    cse_node *node = cse_graph_leaf(m->graph, &cse_op_input, &attributes, shape, dtype);
    const int64_t count = cse_shape_elements(shape);
    node->group = -1;
    m->values[index] = cse_aligned_calloc((size_t)count * cse_dtype_size(dtype) + 64);
    for (int64_t i = 0; i < count; i += 4) {
        uint32_t counter[4] = { (uint32_t)i }, random[4];
        cse_philox((uint64_t)index + 1, counter, random);
        for (int64_t k = 0; k < 4 && i + k < count; k++)
            cse_write_element(dtype, m->values[index], i + k,
                              2 * cse_uniform_from_bits(random[k]) - 1);
    }
    return node;
}

static void prepare(const bench_product *p, cse_dtype dtype, const char *way, measured *m)
{
    const bool library = way[0] != '\0';
    m->graph = cse_graph_new(1, 1);
    cse_trace_begin(m->graph);
    cse_shape a = p->transpose_a ? cse_shape_of(p->batches, p->k, p->m)
                                 : cse_shape_of(p->batches, p->m, p->k);
    cse_shape b = p->transpose_b ? cse_shape_of(p->batches, p->n, p->k)
                                 : cse_shape_of(p->batches, p->k, p->n);
    cse_tensor *left = operand(m, 0, a, dtype), *right = operand(m, 1, b, dtype);
    m->node = cse_matmul(left, right, p->transpose_a, p->transpose_b);
    m->node->dtype = p->wide && !library ? CSE_FLOAT32 : dtype;
    m->node->group = 0;
    CSE_GROW(m->graph->groups, m->graph->group_count, m->graph->group_capacity);
    m->graph->groups[m->graph->group_count++] =
        (cse_group){ .kind = CSE_GROUP_LIBRARY, .nodes = &m->node, .node_count = 1 };
    cse_trace_end();
    m->output = cse_aligned_calloc((size_t)(p->batches * p->m * p->n) * sizeof(float));
    if (library)
        setenv("CSE_MATMUL", way, 1);
    if (cse_kernel_new(m->graph, &m->graph->groups[0], &m->kernel) != CSE_OK)
        fprintf(stderr, "bench_products: %s: %s\n", way, cse_error_message());
    unsetenv("CSE_MATMUL");
}

static void clear(measured *m)
{
    if (m->kernel != NULL)
        cse_kernel_destroy(&m->kernel);
    cse_graph_destroy(&m->graph);
    free(m->output);
    free(m->values[0]);
    free(m->values[1]);
}

/* ---- measuring ---- */

static double processor_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* The second of two runs: the first brings the operands to the caches. */
static double rate_of(const measured *m)
{
    const void *const inputs[2] = { m->values[0], m->values[1] };
    m->kernel->run(m->kernel, inputs, m->output);
    const double start = processor_ns();
    m->kernel->run(m->kernel, inputs, m->output);
    return m->kernel->flops / (processor_ns() - start);
}

static double peak_for(int type)
{
    cse_machine_limits now = { .triad = 0 };
    const cse_dtype operands[2] = { types[type], types[type] };
    for (int i = 0; i < PEAK_TRIES; i++)
        for (cse_peak peak = 0; peak < CSE_PEAK_COUNT; peak++) {
            const double rate = cse_peak_measure(peak);
            now.peaks[peak] = rate > now.peaks[peak] ? rate : now.peaks[peak];
        }
    return now.peaks[cse_machine_peak_of(&now, operands)];
}

static void run_round(bench *b, int round)
{
    for (int t = 0; t < TYPES; t++)
        for (int p = 0; p < b->count; p++) {
            const double peak = peak_for(t);
            b->peaks[t] = peak > b->peaks[t] ? peak : b->peaks[t];
            for (int kind = 0; kind < KINDS; kind++) {
                measured *m = &b->all[p][t][kind];
                m->rates[round] = m->kernel != NULL ? rate_of(m) : 0;
                m->shares[round] = m->rates[round] / peak;
            }
        }
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(const bench *b, const double values[MOST_ROUNDS])
{
    double sorted[MOST_ROUNDS];
    memcpy(sorted, values, (size_t)b->rounds * sizeof *sorted);
    qsort(sorted, (size_t)b->rounds, sizeof *sorted, by_size);
    return sorted[b->rounds / 2];
}

/* ---- output ---- */

static void show_table(const bench *b)
{
    for (int t = 0; t < TYPES; t++) {
        printf("%s, GFLOP/s; peak of registers %.1f\n", cse_dtype_name(types[t]), b->peaks[t]);
        printf("%-4s%-27s%-16s%-20s%9s%9s%9s%9s\n", "", "product", "gradient", "m x n x k", "ours",
               "of peak", "oneDNN", "of peak");
        for (int p = 0; p < b->count; p++) {
            const bench_product *product = &b->products[p];
            char sizes[96];
            snprintf(sizes, sizeof sizes, "%lldx%lldx%lld", (long long)product->m,
                     (long long)product->n, (long long)product->k);
            printf("%-4s%-27s%-16s%-20s", product->work, product->name, product->pass, sizes);
            for (int kind = 0; kind < KINDS; kind++)
                printf("%9.1f%8.1f%%", median(b, b->all[p][t][kind].rates),
                       100 * median(b, b->all[p][t][kind].shares));
            printf("\n");
        }
    }
}

static void show_json(const bench *b)
{
    printf("{\"rounds\": %d, \"products\": [", b->rounds);
    for (int p = 0; p < b->count; p++) {
        const bench_product *s = &b->products[p];
        printf("%s\n {\"work\": \"%s\", \"product\": \"%s\", \"pass\": \"%s\", \"batches\": %lld, "
               "\"m\": %lld, \"n\": %lld, \"k\": %lld, \"transpose_a\": %d, \"transpose_b\": %d, "
               "\"times\": %d",
               p > 0 ? "," : "", s->work, s->name, s->pass, (long long)s->batches, (long long)s->m,
               (long long)s->n, (long long)s->k, s->transpose_a, s->transpose_b, s->times);
        for (int t = 0; t < TYPES; t++)
            printf(", \"%s\": {\"ours\": %.2f, \"ours_share\": %.4f, \"onednn\": %.2f, "
                   "\"onednn_share\": %.4f, \"implementation\": \"%s\"}",
                   cse_dtype_name(types[t]), median(b, b->all[p][t][0].rates),
                   median(b, b->all[p][t][0].shares), median(b, b->all[p][t][1].rates),
                   median(b, b->all[p][t][1].shares),
                   b->all[p][t][0].kernel ? b->all[p][t][0].kernel->implementation : "none");
        printf("}");
    }
    printf("],\n \"peaks\": {\"float32\": %.2f, \"bfloat16\": %.2f}}\n", b->peaks[0], b->peaks[1]);
}

int main(int argc, char **argv)
{
    static bench b = { .rounds = 9 };
    const char *wanted = "W1,W2";
    bool json = false;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--json") == 0)
            json = true;
        else if (strcmp(argv[i], "--rounds") == 0 && i + 1 < argc)
            b.rounds = atoi(argv[++i]);
        else if (strcmp(argv[i], "--works") == 0 && i + 1 < argc)
            wanted = argv[++i];
    }
    b.rounds = b.rounds < 1 ? 1 : b.rounds > MOST_ROUNDS ? MOST_ROUNDS : b.rounds;
    for (size_t w = 0; w < sizeof works / sizeof *works; w++)
        if (strstr(wanted, works[w].name) != NULL)
            add_work(&b, &works[w]);
    for (int p = 0; p < b.count; p++)
        for (int t = 0; t < TYPES; t++)
            for (int kind = 0; kind < KINDS; kind++)
                prepare(&b.products[p], types[t], kinds[kind], &b.all[p][t][kind]);
    for (int round = 0; round < b.rounds; round++)
        run_round(&b, round);
    (json ? show_json : show_table)(&b);
    for (int p = 0; p < b.count; p++)
        for (int t = 0; t < TYPES; t++)
            for (int kind = 0; kind < KINDS; kind++)
                clear(&b.all[p][t][kind]);
    return 0;
}

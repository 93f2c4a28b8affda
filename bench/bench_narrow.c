/* Times the matrix products of one training step of a GPT-2 of width 384 over 2048 tokens, in
 * float32 and with 16-bit operands, by every implementation.
 *
 * Rounds are interleaved, so that other load affects all equally, and medians are shown. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "engine/base/arena.h"
#include "engine/base/random.h"
#include "engine/kernels/kernel.h"
#include "engine/trace/arguments.h"
#include "engine/trace/trace.h"

enum { ROUNDS = 9, PRODUCTS = 11, VARIANTS = 5 };

typedef struct bench_product {
    const char *name;
    int64_t batches, m, n, k;
    bool transpose_a, transpose_b;
    bool wide; /* the result is float32 whatever the operands are */
} bench_product;

static const bench_product products[PRODUCTS] = {
    { "query, key, value", 1, 2048, 384, 384, false, true, false },
    { "feed-forward in", 1, 2048, 1536, 384, false, true, false },
    { "feed-forward out", 1, 2048, 384, 1536, false, true, false },
    { "its input gradient", 1, 2048, 1536, 384, false, false, false },
    { "its input gradient", 1, 2048, 384, 1536, false, false, false },
    { "weight gradient", 1, 384, 384, 2048, true, false, true },
    { "weight gradient", 1, 1536, 384, 2048, true, false, true },
    { "weight gradient", 1, 384, 1536, 2048, true, false, true },
    { "attention scores", 48, 256, 256, 64, false, true, true },
    { "attention output", 48, 256, 64, 256, false, false, false },
    { "its gradient", 48, 256, 64, 256, true, false, false },
};

static const struct variant {
    const char *name, *way;
    cse_dtype dtype;
} variants[VARIANTS] = {
    { "float32", "", CSE_FLOAT32 },
    { "bf16 amx", "amx", CSE_BFLOAT16 },
    { "bf16 avx512", "avx512", CSE_BFLOAT16 },
    { "float16", "avx512", CSE_FLOAT16 },
    { "cbfloat16", "avx512", CSE_CBFLOAT16 },
};

typedef struct measured {
    cse_graph *graph;
    cse_node *node;
    cse_kernel *kernel;
    void *values[2], *output;
    double taken_ns[ROUNDS];
} measured;

static cse_node *operand(measured *m, int index, cse_shape shape, cse_dtype dtype)
{
    const cse_attributes attributes = { .integer_count = 1, .integers = { index } };
    cse_node *node = cse_graph_leaf(m->graph, &cse_op_input, &attributes, shape, dtype);
    int64_t count = cse_shape_elements(shape);
    node->group = -1;
    m->values[index] = cse_aligned_calloc((size_t)count * sizeof(float) + 64);
    for (int64_t i = 0; i < count; i++) {
        uint32_t counter[4] = { (uint32_t)i }, words[4];
        cse_philox((uint64_t)index + 1, counter, words);
        cse_write_element(dtype, m->values[index], i, 2 * cse_uniform_from_bits(words[0]) - 1);
    }
    return node;
}

static void prepare(const bench_product *p, const struct variant *v, measured *m)
{
    m->graph = cse_graph_new(1, 1);
    cse_trace_begin(m->graph);
    cse_shape a = p->transpose_a ? cse_shape_of(p->batches, p->k, p->m)
                                 : cse_shape_of(p->batches, p->m, p->k);
    cse_shape b = p->transpose_b ? cse_shape_of(p->batches, p->n, p->k)
                                 : cse_shape_of(p->batches, p->k, p->n);
    cse_tensor *left = operand(m, 0, a, v->dtype), *right = operand(m, 1, b, v->dtype);
    m->node = cse_matmul(left, right, p->transpose_a, p->transpose_b);
    m->node->dtype = p->wide ? CSE_FLOAT32 : v->dtype;
    m->node->group = 0;
    CSE_GROW(m->graph->groups, m->graph->group_count, m->graph->group_capacity);
    m->graph->groups[m->graph->group_count++] =
        (cse_group){ .kind = CSE_GROUP_LIBRARY, .nodes = &m->node, .node_count = 1 };
    cse_trace_end();
    m->output = cse_aligned_calloc((size_t)(p->batches * p->m * p->n) * sizeof(float));
    setenv("CSE_MATMUL", v->way, 1);
    if (cse_kernel_new(m->graph, &m->graph->groups[0], &m->kernel) != CSE_OK) {
        fprintf(stderr, "bench_narrow: %s\n", cse_error_message());
        exit(EXIT_FAILURE);
    }
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void show(measured all[PRODUCTS][VARIANTS])
{
    double sums[VARIANTS] = { 0 };
    printf("%-20s %-18s", "GFLOP/s", "m x n x k");
    for (int v = 0; v < VARIANTS; v++)
        printf("%12s", variants[v].name);
    for (int p = 0; p < PRODUCTS; p++) {
        char sizes[64];
        snprintf(sizes, sizeof sizes, "%lldx%lldx%lld", (long long)products[p].m,
                 (long long)products[p].n, (long long)products[p].k);
        printf("\n%-20s %-18s", products[p].name, sizes);
        for (int v = 0; v < VARIANTS; v++) {
            measured *m = &all[p][v];
            qsort(m->taken_ns, ROUNDS, sizeof *m->taken_ns, by_size);
            sums[v] += m->taken_ns[ROUNDS / 2];
            printf("%12.0f", m->kernel->flops / m->taken_ns[ROUNDS / 2]);
        }
    }
    printf("\n%-39s", "sum, ms");
    for (int v = 0; v < VARIANTS; v++)
        printf("%12.2f", sums[v] / 1e6);
    printf("\n%-39s", "implementation");
    for (int v = 0; v < VARIANTS; v++)
        printf("%12.12s", all[0][v].kernel->implementation);
    printf("\n");
}

/* CPU time of this process, which excludes others on the core. */
static double processor_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

int main(void)
{
    static measured all[PRODUCTS][VARIANTS];
    for (int p = 0; p < PRODUCTS; p++)
        for (int v = 0; v < VARIANTS; v++)
            prepare(&products[p], &variants[v], &all[p][v]);
    for (int round = 0; round < ROUNDS; round++)
        for (int p = 0; p < PRODUCTS; p++)
            for (int v = 0; v < VARIANTS; v++) {
                measured *m = &all[p][v];
                const void *const inputs[2] = { m->values[0], m->values[1] };
                double start = processor_ns();
                m->kernel->run(m->kernel, inputs, m->output);
                m->taken_ns[round] = processor_ns() - start;
            }
    show(all);
    for (int p = 0; p < PRODUCTS; p++)
        for (int v = 0; v < VARIANTS; v++) {
            measured *m = &all[p][v];
            cse_kernel_destroy(&m->kernel);
            cse_graph_destroy(&m->graph);
            free(m->output);
            free(m->values[0]);
            free(m->values[1]);
        }
    return 0;
}

/* Times each matrix product of one training step of the 784-500-300-10 perceptron, batch 128,
 * float32, by oneDNN and by our own kernel, next to the core's rate of fused multiply-adds measured
 * in between.
 *
 * Rounds are interleaved and the fastest of each is shown, which excludes delays by other load.
 * Operands are random, in memory as the step would use. */
#include <stdio.h>
#include <stdlib.h>

#include "engine/base/arena.h"
#include "engine/base/clock.h"
#include "engine/base/random.h"
#include "engine/kernels/kernel.h"
#include "engine/trace/trace.h"

enum { BATCH = 128, ROUNDS = 40, PRODUCTS = 8, KINDS = 2, PEAK_STEPS = 200000 };

typedef struct bench_product {
    const char *name;
    int64_t m, n, k;
    bool transpose_a, transpose_b, bias;
} bench_product;

static const bench_product products[PRODUCTS] = {
    { "forward 1", BATCH, 500, 784, false, true, true },
    { "forward 2", BATCH, 300, 500, false, true, true },
    { "forward 3", BATCH, 10, 300, false, true, true },
    { "input gradient 3", BATCH, 300, 10, false, false, false },
    { "input gradient 2", BATCH, 500, 300, false, false, false },
    { "weight gradient 3", 10, 300, BATCH, true, false, false },
    { "weight gradient 2", 300, 500, BATCH, true, false, false },
    { "weight gradient 1", 500, 784, BATCH, true, false, false },
};
static const char *const kinds[KINDS] = { "onednn", "packed" };

typedef struct measured {
    cse_graph *graph;
    cse_node *nodes[3]; /* of the group: product, bias' broadcast, sum */
    cse_group group;
    cse_kernel *kernels[KINDS];
    void *values[3];
    void *output;
    double best_ns[KINDS];
} measured;

/* Multiplications and additions per nanosecond with operands in registers. */
#if defined(__x86_64__)
#include <immintrin.h>
__attribute__((target("avx512f"))) static double peak_of_core(void)
{
    __m512 sums[24], x = _mm512_set1_ps(0.999f), y = _mm512_set1_ps(0.001f);
#pragma GCC unroll 24
    for (int i = 0; i < 24; i++)
        sums[i] = _mm512_set1_ps((float)i);
    int64_t start = cse_clock_ns();
    for (int step = 0; step < PEAK_STEPS; step++) {
#pragma GCC unroll 24
        for (int i = 0; i < 24; i++) {
            sums[i] = _mm512_fmadd_ps(sums[i], x, y);
            __asm__ volatile("" : "+v"(sums[i]));
        }
    }
    int64_t taken = cse_clock_ns() - start;
    return 2.0 * 16 * 24 * PEAK_STEPS / (double)taken;
}

static double peak(void)
{
    return __builtin_cpu_supports("avx512f") ? peak_of_core() : 0;
}
#else
static double peak(void)
{
    return 0;
}
#endif

static void *random_values(int64_t count, uint64_t seed)
{
    float *values = cse_aligned_calloc((size_t)count * sizeof(float) + 64);
    for (int64_t i = 0; i < count; i++) {
        uint32_t counter[4] = { (uint32_t)i }, words[4];
        cse_philox(seed, counter, words);
        values[i] = 2 * (float)cse_uniform_from_bits(words[0]) - 1;
    }
    return values;
}

/* An operand, outside of the group. */
static cse_node *operand(measured *m, int index, cse_shape shape)
{
    const cse_attributes attributes = { .integer_count = 1, .integers = { index } };
    cse_node *node = cse_graph_leaf(m->graph, &cse_op_input, &attributes, shape, CSE_FLOAT32);
    node->group = -1;
    m->values[index] = random_values(cse_shape_elements(shape), (uint64_t)index + 1);
    return node;
}

static void build_group(const bench_product *p, measured *m)
{
    cse_tensor *a =
        operand(m, 0, p->transpose_a ? cse_shape_of(p->k, p->m) : cse_shape_of(p->m, p->k));
    cse_tensor *b =
        operand(m, 1, p->transpose_b ? cse_shape_of(p->n, p->k) : cse_shape_of(p->k, p->n));
    m->nodes[0] = cse_matmul(a, b, p->transpose_a, p->transpose_b);
    m->group = (cse_group){ .kind = CSE_GROUP_LIBRARY, .nodes = m->nodes, .node_count = 1 };
    if (p->bias) {
        m->nodes[2] = cse_add(m->nodes[0], operand(m, 2, cse_shape_of(p->n)));
        m->nodes[1] = m->nodes[2]->inputs[1];
        m->group.node_count = 3;
    }
    for (int i = 0; i < m->group.node_count; i++)
        m->nodes[i]->group = 0;
    CSE_GROW(m->graph->groups, m->graph->group_count, m->graph->group_capacity);
    m->graph->groups[m->graph->group_count++] = m->group;
}

static void prepare(const bench_product *p, measured *m)
{
    m->graph = cse_graph_new(1, BATCH);
    cse_trace_begin(m->graph);
    build_group(p, m);
    cse_trace_end();
    m->output = cse_aligned_calloc((size_t)(p->m * p->n) * sizeof(float));
    for (int kind = 0; kind < KINDS; kind++) {
        setenv("CSE_MATMUL", kinds[kind], 1);
        if (cse_kernel_new(m->graph, &m->graph->groups[0], &m->kernels[kind]) != CSE_OK) {
            fprintf(stderr, "bench_products: %s\n", cse_error_message());
            exit(EXIT_FAILURE);
        }
        m->best_ns[kind] = 1e30;
    }
}

static void round_of(measured *all)
{
    for (int kind = 0; kind < KINDS; kind++)
        for (int i = 0; i < PRODUCTS; i++) {
            measured *m = &all[i];
            const void *const inputs[3] = { m->values[0], m->values[1], m->values[2] };
            int64_t start = cse_clock_ns();
            m->kernels[kind]->run(m->kernels[kind], inputs, m->output);
            double taken = (double)(cse_clock_ns() - start);
            m->best_ns[kind] = taken < m->best_ns[kind] ? taken : m->best_ns[kind];
        }
}

static void show(const measured *all, double rate)
{
    double sums[KINDS] = { 0 }, flops = 0;
    printf("%-18s %-16s %9s %9s   %9s %9s\n", "product", "m x n x k", "oneDNN us", "GFLOP/s",
           "packed us", "GFLOP/s");
    for (int i = 0; i < PRODUCTS; i++) {
        const bench_product *p = &products[i];
        char sizes[64];
        snprintf(sizes, sizeof sizes, "%lldx%lldx%lld", (long long)p->m, (long long)p->n,
                 (long long)p->k);
        printf("%-18s %-16s", p->name, sizes);
        flops += all[i].kernels[0]->flops;
        for (int kind = 0; kind < KINDS; kind++) {
            sums[kind] += all[i].best_ns[kind];
            printf(" %9.1f %9.1f  ", all[i].best_ns[kind] / 1e3,
                   all[i].kernels[kind]->flops / all[i].best_ns[kind]);
        }
        printf("\n");
    }
    printf("%-35s %9.1f %9.1f   %9.1f %9.1f\n", "sum", sums[0] / 1e3, flops / sums[0],
           sums[1] / 1e3, flops / sums[1]);
    printf("packed over oneDNN: %.3f of the time\n", sums[1] / sums[0]);
    if (rate > 0)
        printf("multiply-adds in registers: %.1f GFLOP/s; of it oneDNN %.3f, packed %.3f\n", rate,
               flops / sums[0] / rate, flops / sums[1] / rate);
}

int main(void)
{
    static measured all[PRODUCTS];
    double rate = 0;
    for (int i = 0; i < PRODUCTS; i++)
        prepare(&products[i], &all[i]);
    for (int round = 0; round < ROUNDS; round++) {
        double now = peak();
        rate = now > rate ? now : rate;
        round_of(all);
    }
    show(all, rate);
    for (int i = 0; i < PRODUCTS; i++) {
        for (int kind = 0; kind < KINDS; kind++)
            cse_kernel_destroy(&all[i].kernels[kind]);
        free(all[i].output);
        for (int v = 0; v < 3; v++)
            free(all[i].values[v]);
        cse_graph_destroy(&all[i].graph);
    }
    return 0;
}

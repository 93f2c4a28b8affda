/* Emulated accumulation: what the rounding of a long sum costs in accuracy, and what emulating it
 * costs in time.
 *
 * The first table, which is in docs/precision.md, sums N values of mean 1 and standard deviation 1
 * (uniform; Philox, seed 1) by matrix products with ones in the engine's kernels. It shows the root
 * mean square, over 64 draws, of the relative error against the exact sum of the same 16-bit
 * values. The second table shows the best time of some rounds, and its ratio to that of the same
 * format with sums in float32. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "engine/base/arena.h"
#include "engine/base/random.h"
#include "engine/code/kernels/kernel.h"
#include "engine/graph/trace/arguments.h"

enum { DRAWS = 64, ROUNDS = 5 };

typedef struct way {
    const char *name;
    cse_dtype format;
    cse_accumulation how; /* tile_length 0: float32 throughout */
} way;

#define TILED(format, sr, length)                                                                \
    format,                                                                                      \
    {                                                                                            \
        .across = format, .stochastic = sr, .emulated = true, .tile_length = length, .stream = 1 \
    }

static const way ways[] = {
    { "fp16 RNE", TILED(CSE_FLOAT16, false, 1) },
    { "bf16 RNE", TILED(CSE_BFLOAT16, false, 1) },
    { "bf16 SR", TILED(CSE_BFLOAT16, true, 1) },
    { "cb16 RNE", TILED(CSE_CBFLOAT16, false, 1) },
    { "cb16 SR", TILED(CSE_CBFLOAT16, true, 1) },
    { "cb16, tiles of 64", TILED(CSE_CBFLOAT16, false, 64) },
    { "bf16, tiles of 64", TILED(CSE_BFLOAT16, false, 64) },
    { "bf16 SR, tiles of 64", TILED(CSE_BFLOAT16, true, 64) },
};

enum { WAYS = sizeof ways / sizeof *ways };

/* One product [m, k] x [k, n] with its values and its kernel. */
typedef struct product {
    cse_graph *graph;
    cse_node *nodes[1];
    cse_kernel *kernel;
    uint16_t *a, *b;
    float *result;
    int64_t m, n, k;
    cse_dtype format;
} product;

static uint16_t *operand(int64_t count)
{
    return cse_aligned_calloc((size_t)(count + 32) * sizeof(uint16_t));
}

static void product_open(product *p, const way *w, const int64_t sizes[3])
{
    const cse_attributes attributes[2] = { { .integer_count = 1 },
                                           { .integer_count = 1, .integers = { 1 } } };
    *p = (product){ .m = sizes[0], .n = sizes[1], .k = sizes[2], .format = w->format };
    p->graph = cse_graph_new(1, 1);
    cse_trace_begin(p->graph);
    cse_node *a = cse_graph_leaf(p->graph, &cse_op_input, &attributes[0], cse_shape_of(p->m, p->k),
                                 w->format);
    cse_node *b = cse_graph_leaf(p->graph, &cse_op_input, &attributes[1], cse_shape_of(p->k, p->n),
                                 w->format);
    p->nodes[0] = cse_matmul(a, b, false, false);
    cse_trace_end();
    a->group = b->group = -1;
    p->nodes[0]->group = 0;
    p->nodes[0]->dtype = CSE_FLOAT32;
    p->nodes[0]->accumulation = w->how;
    const cse_group group = { .kind = CSE_GROUP_LIBRARY, .nodes = p->nodes, .node_count = 1 };
    CSE_GROW(p->graph->groups, p->graph->group_count, p->graph->group_capacity);
    p->graph->groups[p->graph->group_count++] = group;
    if (cse_kernel_new(p->graph, &p->graph->groups[0], &p->kernel) != CSE_OK) {
        fprintf(stderr, "bench_accumulation: %s\n", cse_error_message());
        exit(EXIT_FAILURE);
    }
    p->kernel->seed = 1;
    p->a = operand(p->m * p->k);
    p->b = operand(p->k * p->n);
    p->result = cse_aligned_calloc((size_t)(p->m * p->n + 16) * sizeof(float));
}

static void product_run(product *p)
{
    const void *const inputs[] = { p->a, p->b };
    p->kernel->run(p->kernel, inputs, p->result);
}

static void product_close(product *p)
{
    cse_kernel_destroy(&p->kernel);
    cse_graph_destroy(&p->graph);
    free(p->a);
    free(p->b);
    free(p->result);
}

static double uniform(uint32_t which, uint32_t row)
{
    const uint32_t counter[4] = { which, row, 0, 0 };
    uint32_t words[4];
    cse_philox(1, counter, words);
    return (double)cse_uniform_from_bits(words[0]);
}

/* ---- accuracy ---- */

static double error_of(const way *w, int64_t count)
{
    product p;
    double squares = 0;
    product_open(&p, w, (const int64_t[3]){ DRAWS, 1, count });
    for (int64_t row = 0; row < DRAWS; row++)
        for (int64_t i = 0; i < count; i++) {
            double value = 1 + sqrt(3) * (2 * uniform((uint32_t)i, (uint32_t)row) - 1);
            cse_write_element(w->format, p.a, row * count + i, value);
        }
    for (int64_t i = 0; i < count; i++)
        cse_write_element(w->format, p.b, i, 1);
    product_run(&p);
    for (int64_t row = 0; row < DRAWS; row++) {
        double exact = 0;
        for (int64_t i = 0; i < count; i++)
            exact += cse_read_element(w->format, p.a, row * count + i);
        double error = ((double)p.result[row] - exact) / exact;
        squares += error * error / DRAWS;
    }
    product_close(&p);
    return sqrt(squares);
}

static void show_errors(void)
{
    static const int64_t counts[] = { 4096, 65536 };
    printf("relative error of a sum of N values (root mean square of %d draws)\n| N |", DRAWS);
    for (int w = 0; w < WAYS; w++)
        printf(" %s |", ways[w].name);
    printf("\n|---|");
    for (int w = 0; w < WAYS; w++)
        printf("---|");
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
        printf("\n| %lld |", (long long)counts[c]);
        for (int w = 0; w < WAYS; w++)
            printf(" %.1e |", error_of(&ways[w], counts[c]));
    }
    printf("\n\n");
}

/* ---- time ---- */

static const way timed[] = {
    { "bf16, sums in float32", CSE_BFLOAT16, { .across = CSE_FLOAT32 } },
    { "fp16, sums in float32", CSE_FLOAT16, { .across = CSE_FLOAT32 } },
    { "cb16, sums in float32", CSE_CBFLOAT16, { .across = CSE_FLOAT32 } },
    { "bf16, tiles of 64", TILED(CSE_BFLOAT16, false, 64) },
    { "fp16, tiles of 64", TILED(CSE_FLOAT16, false, 64) },
    { "cb16, tiles of 64", TILED(CSE_CBFLOAT16, false, 64) },
    { "bf16 SR, tiles of 64", TILED(CSE_BFLOAT16, true, 64) },
    { "bf16, tiles of 1", TILED(CSE_BFLOAT16, false, 1) },
    { "bf16 SR, tiles of 1", TILED(CSE_BFLOAT16, true, 1) },
};

enum { TIMED = sizeof timed / sizeof *timed };

/* CPU time of this thread, which excludes other processes. */
static double cpu_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void show_times(const int64_t sizes[3])
{
    product products[TIMED];
    double best[TIMED];
    for (int w = 0; w < TIMED; w++) {
        product *p = &products[w];
        product_open(p, &timed[w], sizes);
        for (int64_t i = 0; i < p->m * p->k; i++)
            cse_write_element(p->format, p->a, i, 2 * uniform((uint32_t)i, 7) - 1);
        for (int64_t i = 0; i < p->k * p->n; i++)
            cse_write_element(p->format, p->b, i, 2 * uniform((uint32_t)i, 8) - 1);
        best[w] = 1e30;
    }
    for (int round = 0; round < ROUNDS; round++)
        for (int w = 0; w < TIMED; w++) {
            double start = cpu_ns();
            product_run(&products[w]);
            double taken = cpu_ns() - start;
            best[w] = taken < best[w] ? taken : best[w];
        }
    printf("%lld x %lld x %lld (m x n x k)\n", (long long)sizes[0], (long long)sizes[1],
           (long long)sizes[2]);
    for (int w = 0; w < TIMED; w++) {
        const product *p = &products[w];
        int plain = w;
        while (timed[plain].how.tile_length > 0 || timed[plain].format != timed[w].format)
            plain = (plain + 1) % TIMED;
        printf("  %-24s %10.1f us %8.1f GFLOP/s %6.2f times\n", timed[w].name, best[w] / 1e3,
               2.0 * (double)(p->m * p->n * p->k) / best[w], best[w] / best[plain]);
    }
    for (int w = 0; w < TIMED; w++)
        product_close(&products[w]);
}

int main(void)
{
    show_errors();
    show_times((const int64_t[3]){ 512, 512, 1024 });
    show_times((const int64_t[3]){ 2048, 384, 1536 });
    return 0;
}

/* Times the matrix products of training steps in float32 and with 16-bit operands, by our kernels
 * and oneDNN, next to what the core's registers give: of a GPT-2 of width 384 over 2048 tokens, and
 * of one of width 768 and a vocabulary of 50257 over 256 tokens.
 *
 * Rounds are interleaved, so that other load affects all equally, and medians are shown: as rates,
 * and as our kernels' shares of the registers' rate in the same rounds. Arguments: words of which
 * one must be in the name of a product. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine/base/arena.h"
#include "engine/base/random.h"
#include "engine/code/kernels/kernel.h"
#include "engine/graph/trace/arguments.h"
#include "engine/graph/trace/trace.h"

enum { ROUNDS = 9, PRODUCTS = 21, VARIANTS = 6, PEAK_STEPS = 30000 };

typedef struct bench_product {
    const char *name;
    int64_t batches, m, n, k;
    bool transpose_a, transpose_b;
    bool wide; /* the result is float32 whatever the operands are */
} bench_product;

static const bench_product products[PRODUCTS] = {
    { "query, key, value", 1, 2048, 1152, 384, false, true, false },
    { "projection", 1, 2048, 384, 384, false, true, false },
    { "feed-forward in", 1, 2048, 1536, 384, false, true, false },
    { "feed-forward out", 1, 2048, 384, 1536, false, true, false },
    { "input gradient", 1, 2048, 384, 1152, false, false, false },
    { "input gradient", 1, 2048, 384, 1536, false, false, false },
    { "input gradient", 1, 2048, 1536, 384, false, false, false },
    { "weight gradient", 1, 1152, 384, 2048, true, false, true },
    { "weight gradient", 1, 384, 384, 2048, true, false, true },
    { "weight gradient", 1, 1536, 384, 2048, true, false, true },
    { "weight gradient", 1, 384, 1536, 2048, true, false, true },
    { "attention scores", 48, 256, 256, 64, false, true, true },
    { "attention output", 48, 256, 64, 256, false, false, false },
    { "its gradient", 48, 256, 64, 256, true, false, false },
    { "124M: in", 1, 256, 3072, 768, false, true, false },
    { "124M: out", 1, 256, 768, 3072, false, true, false },
    { "124M: weight gradient", 1, 3072, 768, 256, true, false, true },
    { "124M: input gradient", 1, 256, 768, 3072, false, false, false },
    { "head", 1, 256, 50257, 768, false, true, false },
    { "head, input gradient", 1, 256, 768, 50257, false, false, false },
    { "head, weight gradient", 1, 50257, 768, 256, true, false, true },
};

/* oneDNN has one type for operands and result. */
static const struct variant {
    const char *name, *way;
    cse_dtype dtype;
    bool one_type;
} variants[VARIANTS] = {
    { "float32", "", CSE_FLOAT32, false },        { "onednn", "onednn", CSE_FLOAT32, false },
    { "bfloat16", "", CSE_BFLOAT16, false },      { "onednn", "onednn", CSE_BFLOAT16, true },
    { "widened", "avx512", CSE_BFLOAT16, false }, { "float16", "packed", CSE_FLOAT16, false },
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
    m->node->dtype = p->wide && !v->one_type ? CSE_FLOAT32 : v->dtype;
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

/* CPU time of this process, which excludes others on the core. */
static double processor_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* What the registers give: multiplications and additions per nanosecond, in float32 and of pairs of
 * bfloat16; 0 where the processor has no such instructions. */
enum { RATES = 2 };

#if defined(__x86_64__)
#include <immintrin.h>

/* A function that times `STEP` on each of 24 sums. */
#define DEFINE_PEAK(NAME, TARGET, OPERATIONS, STEP)                                               \
    __attribute__((target(TARGET))) static double NAME(void)                                      \
    {                                                                                             \
        __m512 sums[24], x = _mm512_set1_ps(0.5f);                                                \
        _Pragma("GCC unroll 24") for (int i = 0; i < 24; i++) sums[i] = _mm512_set1_ps((float)i); \
        const double start = processor_ns();                                                      \
        for (int step = 0; step < PEAK_STEPS; step++) {                                           \
            _Pragma("GCC unroll 24") for (int i = 0; i < 24; i++)                                 \
            {                                                                                     \
                sums[i] = STEP;                                                                   \
                __asm__ volatile("" : "+v"(sums[i]));                                             \
            }                                                                                     \
        }                                                                                         \
        return (OPERATIONS)*24.0 * PEAK_STEPS / (processor_ns() - start);                         \
    }

DEFINE_PEAK(peak_of_float32, "avx512f", 32, _mm512_fmadd_ps(sums[i], x, x))
DEFINE_PEAK(peak_of_bfloat16, "avx512f,avx512bf16", 64,
            _mm512_dpbf16_ps(sums[i], (__m512bh)x, (__m512bh)x))

static void measure_peaks(double rates[RATES])
{
    rates[0] = __builtin_cpu_supports("avx512f") ? peak_of_float32() : 0;
    rates[1] = __builtin_cpu_supports("avx512bf16") ? peak_of_bfloat16() : 0;
}
#else
static void measure_peaks(double rates[RATES])
{
    rates[0] = rates[1] = 0;
}
#endif

static double median(double values[ROUNDS])
{
    qsort(values, ROUNDS, sizeof *values, by_size);
    return values[ROUNDS / 2];
}

typedef struct bench {
    int products[PRODUCTS], count;
    measured all[PRODUCTS][VARIANTS];
    double rates[RATES][ROUNDS];
} bench;

static void show_shares(const measured *of, const double peaks[RATES])
{
    for (int r = 0; r < RATES; r++)
        if (peaks[r] > 0)
            printf("   %.2f", of[2 * r].kernel->flops / of[2 * r].taken_ns[ROUNDS / 2] / peaks[r]);
}

static void show(bench *b)
{
    double sums[VARIANTS] = { 0 };
    const double peaks[RATES] = { median(b->rates[0]), median(b->rates[1]) };
    printf("%-22s %-18s", "GFLOP/s", "m x n x k");
    for (int v = 0; v < VARIANTS; v++)
        printf("%10s", variants[v].name);
    printf("   share of the registers' %.0f and %.0f", peaks[0], peaks[1]);
    for (int i = 0; i < b->count; i++) {
        const bench_product *p = &products[b->products[i]];
        char sizes[64];
        snprintf(sizes, sizeof sizes, "%lldx%lldx%lld", (long long)p->m, (long long)p->n,
                 (long long)p->k);
        printf("\n%-22s %-18s", p->name, sizes);
        for (int v = 0; v < VARIANTS; v++) {
            measured *m = &b->all[i][v];
            sums[v] += median(m->taken_ns);
            printf("%10.0f", m->kernel->flops / m->taken_ns[ROUNDS / 2]);
        }
        show_shares(b->all[i], peaks);
    }
    printf("\n%-41s", "sum, ms");
    for (int v = 0; v < VARIANTS; v++)
        printf("%10.2f", sums[v] / 1e6);
    printf("\n%-41s", "implementation");
    for (int v = 0; v < VARIANTS; v++)
        printf("  %.8s", b->all[0][v].kernel->implementation);
    printf("\n");
}

static bool is_wanted(const char *name, char *const words[])
{
    bool wanted = words[0] == NULL;
    for (; *words != NULL; words++)
        wanted = wanted || strstr(name, *words) != NULL;
    return wanted;
}

static void run_round(bench *b, int round)
{
    double rates[RATES];
    measure_peaks(rates);
    for (int r = 0; r < RATES; r++)
        b->rates[r][round] = rates[r];
    for (int i = 0; i < b->count; i++)
        for (int v = 0; v < VARIANTS; v++) {
            measured *m = &b->all[i][v];
            const void *const inputs[2] = { m->values[0], m->values[1] };
            double start = processor_ns();
            m->kernel->run(m->kernel, inputs, m->output);
            m->taken_ns[round] = processor_ns() - start;
        }
}

int main(int argument_count, char *arguments[])
{
    static bench b;
    (void)argument_count;
    for (int p = 0; p < PRODUCTS; p++)
        if (is_wanted(products[p].name, arguments + 1))
            b.products[b.count++] = p;
    for (int i = 0; i < b.count; i++)
        for (int v = 0; v < VARIANTS; v++)
            prepare(&products[b.products[i]], &variants[v], &b.all[i][v]);
    for (int round = 0; round < ROUNDS; round++)
        run_round(&b, round);
    if (b.count > 0)
        show(&b);
    for (int i = 0; i < b.count; i++)
        for (int v = 0; v < VARIANTS; v++) {
            measured *m = &b.all[i][v];
            cse_kernel_destroy(&m->kernel);
            cse_graph_destroy(&m->graph);
            free(m->output);
            free(m->values[0]);
            free(m->values[1]);
        }
    return 0;
}

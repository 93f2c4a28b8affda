/* Passes and printing are linear in the layers of a model: four times the layers ask for about
 * four times the memory, all allocations counted. A pass that clears an array of all nodes for
 * each group or state asks for sixteen times as much. */
#include <check.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/code/codegen/codegen.h"
#include "engine/graph/passes/pass.h"
#include "engine/graph/trace/trace.h"
#include "tests/support/compiled_graph.h"

static atomic_llong allocated_bytes;

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define COUNTING_ALLOCATOR 1
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *memory, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

void *malloc(size_t size)
{
    atomic_fetch_add(&allocated_bytes, (long long)size);
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    atomic_fetch_add(&allocated_bytes, (long long)(count * size));
    return __libc_calloc(count, size);
}

void *realloc(void *memory, size_t size)
{
    atomic_fetch_add(&allocated_bytes, (long long)size);
    return __libc_realloc(memory, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    atomic_fetch_add(&allocated_bytes, (long long)size);
    return __libc_memalign(alignment, size);
}
#endif

static cse_tensor *parameter(cse_graph *graph, int layer)
{
    char name[32];
    int index;
    snprintf(name, sizeof name, "weight.%d", layer);
    const cse_state_entry entry = {
        .name = name, .shape = cse_shape_of(8, 8), .dtype = CSE_FLOAT32, .trainable = true
    };
    ck_assert_int_eq(cse_graph_add_state(graph, &entry, &index), CSE_OK);
    return cse_graph_state_node(graph, index);
}

/* x = gelu(x weight) in each layer, and a step of gradient descent for every weight. */
static cse_graph *deep_graph(int layers)
{
    cse_graph *graph = cse_graph_new(2, 4);
    cse_trace_begin(graph);
    cse_tensor *x = fixture_input(graph, "x", cse_shape_of(4, 8), CSE_FLOAT32);
    for (int layer = 0; layer < layers; layer++)
        x = cse_gelu(cse_matmul(x, parameter(graph, layer), false, false), false);
    cse_tensor *loss = cse_mean_all(x);
    for (int layer = 0; layer < layers; layer++) {
        cse_tensor *weight = cse_graph_state_node(graph, layer);
        cse_tensor *gradient =
            cse_trace_1(&cse_op_batch_sum, NULL, cse_trace_2(&cse_op_gradient, NULL, loss, weight));
        graph->states[layer].next = cse_sub(weight, cse_scale(gradient, 0.01));
    }
    cse_trace_end();
    return graph;
}

/* Bytes that planning and printing a model of so many layers asks for, and the nodes of its
 * plan. */
static long long work_of(int layers, int *nodes, size_t *c_bytes)
{
    cse_graph *graph = deep_graph(layers);
    cse_program program = { 0 };
    cse_text text = { 0 };
    const long long before = atomic_load(&allocated_bytes);
    fixture_passes(graph, "");
    ck_assert_int_eq(cse_codegen_print(graph, &program, &text), CSE_OK);
    const long long after = atomic_load(&allocated_bytes);
    *nodes = graph->node_count;
    *c_bytes = text.size;
    cse_program_clear(&program);
    cse_text_clear(&text);
    cse_graph_destroy(&graph);
    return after - before;
}

START_TEST(work_grows_with_the_layers)
{
    int nodes[2];
    size_t c_bytes[2];
    const long long few = work_of(100, &nodes[0], &c_bytes[0]),
                    many = work_of(400, &nodes[1], &c_bytes[1]);
    printf("%d and %d nodes, %lld and %lld bytes asked for, C of %zu and %zu bytes\n", nodes[0],
           nodes[1], few, many, c_bytes[0], c_bytes[1]);
    ck_assert_int_gt(nodes[1], 3 * nodes[0]);
    ck_assert_uint_le(c_bytes[1], c_bytes[0] + c_bytes[0] / 10);
#ifdef COUNTING_ALLOCATOR
    ck_assert_int_gt(few, 0);
    ck_assert_int_le(many, 6 * few);
#endif
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("linear work");
    TCase *cases = tcase_create("linear work");
    tcase_set_timeout(cases, 60);
    tcase_add_test(cases, work_grows_with_the_layers);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

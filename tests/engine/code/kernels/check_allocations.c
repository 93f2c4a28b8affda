/* Our kernels do not allocate memory when they run. This program replaces malloc and its relatives
 * by versions that count.
 *
 * Each oneDNN call allocates and frees a table of arguments, so its kernels are only required to
 * free what they allocate. */
#include <stdlib.h>
#include <string.h>

#include "engine/graph/trace/attention.h"
#include "tests/engine/code/kernels/fixture.h"
#include "tests/samples/samples.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define COUNTS 0
#else
#define COUNTS 1
#endif

static volatile bool counting;
static volatile long taken, given;

#if COUNTS

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *memory, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);
extern void __libc_free(void *memory);

CSE_API void *malloc(size_t size)
{
    taken += counting;
    return __libc_malloc(size);
}

CSE_API void *calloc(size_t count, size_t size)
{
    taken += counting;
    return __libc_calloc(count, size);
}

CSE_API void *realloc(void *memory, size_t size)
{
    taken += counting;
    given += counting && memory != NULL;
    return __libc_realloc(memory, size);
}

CSE_API void *aligned_alloc(size_t alignment, size_t size)
{
    taken += counting;
    return __libc_memalign(alignment, size);
}

CSE_API int posix_memalign(void **memory, size_t alignment, size_t size)
{
    taken += counting;
    *memory = __libc_memalign(alignment, size);
    return *memory == NULL ? 12 : 0;
}

CSE_API void free(void *memory)
{
    given += counting && memory != NULL;
    __libc_free(memory);
}
#endif

/* Three runs of the kernel of `op`'s first sample, the first of them not counted. */
static void count_runs(const cse_op *op, cse_dtype dtype)
{
    kernel_case one;
    cse_node *inputs[6], *nodes[CSE_MAX_INPUTS];
    const void *values[CSE_MAX_INPUTS];
    const cse_op_sample *sample = cse_samples_of(op);
    kernel_case_begin(&one);
    for (int i = 0; i < sample->input_count; i++) {
        bool statistics = sample->input_count == CSE_ATTENTION_INPUTS &&
                          i == CSE_ATTENTION_OF_STATISTICS; /* float32 whatever the others are */
        inputs[i] = kernel_case_input(&one, &sample->inputs[i], statistics ? CSE_FLOAT32 : dtype);
    }
    kernel_case_add(&one, cse_trace(op, &sample->attributes, sample->input_count, inputs));
    kernel_case_close(&one);
    kernel_case_draw(&one, 1, -1, 1);
    int count = cse_group_inputs(one.graph, &one.group, nodes, CSE_MAX_INPUTS);
    for (int i = 0; i < count; i++)
        values[i] = one.values[kernel_case_find(&one, nodes[i])];
    cse_kernel *kernel = kernel_case_kernel(&one, op->name);
    void *output = cse_calloc(kernel_case_output_bytes(&one) + 1, 1);
    void *results[CSE_MAX_RESULTS] = { output }; /* each sample's first result is number 0 */
    void *target = op->kernel.results > 1 ? (void *)results : output;
    bool library = strchr(kernel->implementation, ':') != NULL &&
                   strncmp(kernel->implementation, "packed", 6) != 0;
    kernel->run(kernel, values, target);
    taken = given = 0;
    counting = true;
    kernel->run(kernel, values, target);
    kernel->run(kernel, values, target);
    counting = false;
    ck_assert_msg(taken == given, "%s (%s): took %ld, gave back %ld", op->name,
                  kernel->implementation, taken, given);
    ck_assert_msg(taken == 0 || library, "%s (%s) allocated %ld times", op->name,
                  kernel->implementation, taken);
    free(output);
    cse_kernel_destroy(&kernel);
    kernel_case_end(&one);
}

START_TEST(runs_allocate_nothing)
{
    for (int i = 0; cse_ops[i] != NULL; i++)
        if (cse_ops[i]->kind == CSE_OP_LIBRARY)
            count_runs(cse_ops[i], _i ? CSE_BFLOAT16 : CSE_FLOAT32);
}
END_TEST

#if COUNTS
/* The counting sees what it is there for. */
START_TEST(an_allocation_is_counted)
{
    taken = given = 0;
    counting = true;
    void *volatile memory = malloc(10);
    free(memory);
    counting = false;
    ck_assert_int_eq(taken, 1);
    ck_assert_int_eq(given, 1);
}
END_TEST
#endif

int main(void)
{
    Suite *suite = suite_create("allocations");
    TCase *cases = tcase_create("allocations");
    tcase_set_timeout(cases, 60);
    tcase_add_loop_test(cases, runs_allocate_nothing, 0, 2);
#if COUNTS
    tcase_add_test(cases, an_allocation_is_counted);
#endif
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

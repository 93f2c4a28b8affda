/* Every sample of every op, compiled, against the ops' reference kernels: all in one graph, so that
 * one compilation serves them, with fusion and without. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/trace/trace.h"
#include "tests/support/compiled_graph.h"

enum { MOST_SAMPLES = 1024 };

typedef struct sample_case {
    const cse_op *op;
    const cse_op_sample *sample;
    int first_input; /* in graph->inputs */
} sample_case;

static sample_case cases_of[MOST_SAMPLES];

/* out = sum over the (one) microbatch of float32(op(inputs)). */
static void add_sample(cse_graph *graph, const cse_op *op, const cse_op_sample *sample, int number)
{
    cse_node *inputs[CSE_MAX_INPUTS];
    char name[128];
    cases_of[number] = (sample_case){ op, sample, graph->input_count };
    for (int i = 0; i < sample->input_count; i++) {
        snprintf(name, sizeof name, "%d.%d", number, i);
        inputs[i] = fixture_input(graph, name, sample->inputs[i].shape, sample->inputs[i].dtype);
    }
    cse_tensor *value = cse_trace(op, &sample->attributes, sample->input_count, inputs);
    ck_assert_msg(graph->error == CSE_OK, "%s, %s: %s", op->name, sample->name,
                  graph->error_message);
    snprintf(name, sizeof name, "%s, %s", op->name, sample->name);
    fixture_fetch(graph, name, cse_cast(value, CSE_FLOAT32));
}

static cse_graph *graph_of_samples(int *count)
{
    cse_graph *graph = cse_graph_new(1, 8);
    cse_trace_begin(graph);
    *count = 0;
    for (const cse_op *const *op = cse_ops; *op != NULL; op++)
        for (const cse_op_sample *s = (*op)->samples; s != NULL && s->name != NULL; s++) {
            ck_assert_int_lt(*count, MOST_SAMPLES);
            add_sample(graph, *op, s, (*count)++);
        }
    cse_trace_begin(NULL);
    return graph;
}

static void write_value(void *place, cse_dtype dtype, int64_t at, double value)
{
    if (dtype == CSE_INT32)
        ((int32_t *)place)[at] = (int32_t)floor(value);
    else if (dtype == CSE_BOOL)
        ((bool *)place)[at] = value >= 1;
    else
        ((float *)place)[at] = (float)value;
}

static void draw_inputs(const cse_graph *graph, const fixture_memory *memory, int count)
{
    for (int number = 0; number < count; number++) {
        const cse_op_sample *sample = cases_of[number].sample;
        for (int i = 0; i < sample->input_count; i++) {
            const cse_input_entry *entry = &graph->inputs[cases_of[number].first_input + i];
            double low = sample->inputs[i].low, high = sample->inputs[i].high;
            if (low == 0 && high == 0) {
                low = cse_dtype_is_float(entry->dtype) ? -1 : 0;
                high = cse_dtype_is_float(entry->dtype) ? 1 : 2;
            }
            for (int64_t e = 0; e < cse_shape_elements(entry->shape); e++)
                write_value(memory->base[CSE_SPACE_INPUT] + entry->offset_bytes, entry->dtype, e,
                            fixture_random((uint64_t)(number * 16 + i), (uint32_t)e, low, high));
        }
    }
}

static void compare_sample(const cse_graph *graph, int number, const fixture_memory *compiled,
                           const fixture_memory *reference)
{
    const cse_fetch_entry *fetch = &graph->fetches[number];
    double tolerance = cases_of[number].sample->tolerance;
    const float *got =
        (const float *)(const void *)(compiled->base[CSE_SPACE_FETCH] + fetch->offset_bytes);
    const float *expected =
        (const float *)(const void *)(reference->base[CSE_SPACE_FETCH] + fetch->offset_bytes);
    for (int64_t e = 0; e < cse_shape_elements(fetch->value->shape); e++) {
        double bound = tolerance * fmax(1, fabs((double)expected[e]));
        bool same = got[e] == expected[e] || (isnan(got[e]) && isnan(expected[e]));
        ck_assert_msg(same || fabs((double)got[e] - (double)expected[e]) <= bound,
                      "%s: element %lld is %.9g compiled and %.9g by reference; %.3g is allowed",
                      fetch->name, (long long)e, (double)got[e], (double)expected[e], bound);
    }
}

static const char *const disabled[] = { "", "fusion,order,memory_plan" };

START_TEST(compiled_samples_are_as_the_reference)
{
    int count;
    fixture_memory ours, theirs;
    cse_executable *interpreter;
    cse_graph *graph = graph_of_samples(&count);
    fixture_passes(graph, disabled[_i]);
    cse_executable *compiled = fixture_compile(graph);
    ck_assert_int_eq(cse_executable_interpret(graph, &interpreter), CSE_OK);
    fixture_memory_init(&ours, graph);
    fixture_memory_init(&theirs, graph);
    draw_inputs(graph, &ours, count);
    draw_inputs(graph, &theirs, count);
    fixture_run(compiled, &ours);
    fixture_run(interpreter, &theirs);
    for (int number = 0; number < count; number++)
        compare_sample(graph, number, &ours, &theirs);
    fixture_memory_clear(&ours);
    fixture_memory_clear(&theirs);
    cse_executable_destroy(&compiled);
    cse_executable_destroy(&interpreter);
    cse_graph_destroy(&graph);
    fixture_remove_directories();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("op_samples");
    TCase *cases = tcase_create("op_samples");
    tcase_set_timeout(cases, 120);
    tcase_add_loop_test(cases, compiled_samples_are_as_the_reference, 0,
                        sizeof disabled / sizeof disabled[0]);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* Every sample of every op, compiled, against the ops' reference kernels: all in one graph, so that
 * one compilation serves them, with fusion and without; in float32, and with its floats in each
 * 16-bit format where the op takes them. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/trace/trace.h"
#include "engine/types/dtype.h"
#include "tests/support/compiled_graph.h"

enum { MOST_SAMPLES = 1024 };

typedef struct sample_case {
    const cse_op *op;
    const cse_op_sample *sample;
    int first_input; /* in graph->inputs */
} sample_case;

static const struct {
    cse_dtype dtype;
    double epsilon, least; /* distance of 1 and the next value; the least above 0 */
} formats[] = { { CSE_FLOAT32, 0, 0 },
                { CSE_BFLOAT16, 0x1p-7, 0x1p-133 },
                { CSE_FLOAT16, 0x1p-10, 0x1p-24 },
                { CSE_CBFLOAT16, 0x1p-9, 0x1p-39 } };

static sample_case cases_of[MOST_SAMPLES];

static cse_dtype sample_dtype(const cse_op_sample *sample, int input, int format)
{
    cse_dtype dtype = sample->inputs[input].dtype;
    return dtype == CSE_FLOAT32 ? formats[format].dtype : dtype;
}

/* Whether the op's shape rule takes the sample with floats of the format. */
static bool takes(const cse_op *op, const cse_op_sample *sample, int format)
{
    cse_shape shapes[CSE_MAX_INPUTS], shape = cse_scalar_shape;
    cse_dtype dtypes[CSE_MAX_INPUTS], dtype;
    bool narrow = format == 0;
    for (int i = 0; i < sample->input_count; i++) {
        shapes[i] = sample->inputs[i].shape;
        dtypes[i] = sample_dtype(sample, i, format);
        narrow = narrow || dtypes[i] != sample->inputs[i].dtype;
    }
    const cse_infer in = { &sample->attributes, sample->input_count, shapes, dtypes };
    return narrow && op->infer(&in, &shape, &dtype) == CSE_OK;
}

/* out = sum over the (one) microbatch of float32(op(inputs)). */
static void add_sample(cse_graph *graph, const cse_op *op, const cse_op_sample *sample, int number,
                       int format)
{
    cse_node *inputs[CSE_MAX_INPUTS];
    char name[128];
    cases_of[number] = (sample_case){ op, sample, graph->input_count };
    for (int i = 0; i < sample->input_count; i++) {
        snprintf(name, sizeof name, "%d.%d", number, i);
        inputs[i] =
            fixture_input(graph, name, sample->inputs[i].shape, sample_dtype(sample, i, format));
    }
    cse_tensor *value = cse_trace(op, &sample->attributes, sample->input_count, inputs);
    ck_assert_msg(graph->error == CSE_OK, "%s, %s: %s", op->name, sample->name,
                  graph->error_message);
    snprintf(name, sizeof name, "%s, %s", op->name, sample->name);
    fixture_fetch(graph, name, cse_cast(value, CSE_FLOAT32));
}

static cse_graph *graph_of_samples(int format, int *count)
{
    cse_graph *graph = cse_graph_new(1, 8);
    cse_trace_begin(graph);
    *count = 0;
    for (const cse_op *const *op = cse_ops; *op != NULL; op++)
        for (const cse_op_sample *s = (*op)->samples; s != NULL && s->name != NULL; s++) {
            ck_assert_int_lt(*count, MOST_SAMPLES);
            if (takes(*op, s, format))
                add_sample(graph, *op, s, (*count)++, format);
        }
    cse_trace_end();
    return graph;
}

static void write_value(void *place, cse_dtype dtype, int64_t at, double value)
{
    if (dtype == CSE_INT32)
        ((int32_t *)place)[at] = (int32_t)floor(value);
    else if (dtype == CSE_BOOL)
        ((bool *)place)[at] = value >= 1;
    else if (dtype == CSE_FLOAT32)
        ((float *)place)[at] = (float)value;
    else
        ((uint16_t *)place)[at] = cse_round_to_bits(dtype, (float)value);
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

/* Both compute from the same 16-bit values and round to the same format: what float arithmetic
 * leaves open moves a result to a neighbour at most, one epsilon away. An op that stands for
 * several others (a composite, a kernel of several results) rounds after each: four such moves, of
 * values as large as 1 or the result. */
static double bound_of(const sample_case *at, int format, double expected)
{
    double bound = at->sample->tolerance * fmax(1, fabs(expected));
    bool several = at->op->kind == CSE_OP_COMPOSITE || at->op->kernel.results > 1;
    double steps = several ? 4 * fmax(1, fabs(expected)) : fabs(expected);
    return bound + formats[format].epsilon * steps + formats[format].least;
}

static void compare_sample(const cse_graph *graph, int number, int format,
                           const fixture_memory *compiled, const fixture_memory *reference)
{
    const cse_fetch_entry *fetch = &graph->fetches[number];
    const float *got =
        (const float *)(const void *)(compiled->base[CSE_SPACE_FETCH] + fetch->offset_bytes);
    const float *expected =
        (const float *)(const void *)(reference->base[CSE_SPACE_FETCH] + fetch->offset_bytes);
    for (int64_t e = 0; e < cse_shape_elements(fetch->value->shape); e++) {
        double bound = bound_of(&cases_of[number], format, (double)expected[e]);
        bool same = got[e] == expected[e] || (isnan(got[e]) && isnan(expected[e]));
        ck_assert_msg(same || fabs((double)got[e] - (double)expected[e]) <= bound,
                      "%s: element %lld is %.9g compiled and %.9g by reference; %.3g is allowed",
                      fetch->name, (long long)e, (double)got[e], (double)expected[e], bound);
    }
}

/* Formats change what an op's loop holds, fusion which loops there are: each format once with it.
 */
static const struct {
    int format;
    const char *disabled;
} compilations[] = {
    { 0, "" }, { 0, "fusion,order,memory_plan" }, { 1, "" }, { 2, "" }, { 3, "" }
};

START_TEST(compiled_samples_are_as_the_reference)
{
    int count, format = compilations[_i].format;
    fixture_memory ours, theirs;
    cse_executable *interpreter;
    cse_graph *graph = graph_of_samples(format, &count);
    ck_assert_int_gt(count, 80);
    fixture_passes(graph, compilations[_i].disabled);
    cse_executable *compiled = fixture_compile(graph);
    ck_assert_int_eq(cse_executable_interpret(graph, &interpreter), CSE_OK);
    fixture_memory_init(&ours, graph);
    fixture_memory_init(&theirs, graph);
    draw_inputs(graph, &ours, count);
    draw_inputs(graph, &theirs, count);
    fixture_run(compiled, &ours);
    fixture_run(interpreter, &theirs);
    for (int number = 0; number < count; number++)
        compare_sample(graph, number, format, &ours, &theirs);
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
                        sizeof compilations / sizeof compilations[0]);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

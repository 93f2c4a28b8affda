/* Both compute from the same values and round to the same format: what float arithmetic leaves open
 * moves a result to a neighbour at most, one epsilon away. An op that stands for several others (a
 * composite, a kernel of several results) rounds after each: four such moves, of values as large as
 * 1 or the result. */
#include "run/contracts/op_code.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/random.h"
#include "engine/code/codegen/codegen.h"
#include "engine/code/execute/execute.h"
#include "engine/graph/passes/pass.h"
#include "engine/graph/trace/arguments.h"
#include "run/contracts/straight_run.h"

static const struct {
    cse_dtype dtype;
    double epsilon, least; /* distance of 1 and the next value; the least above 0 */
} formats[] = { { CSE_FLOAT32, 0, 0 },
                { CSE_BFLOAT16, 0x1p-7, 0x1p-133 },
                { CSE_FLOAT16, 0x1p-10, 0x1p-24 },
                { CSE_CBFLOAT16, 0x1p-9, 0x1p-39 } };

/* A sample of an op that is in the graph. */
typedef struct added_sample {
    const cse_op *op;
    const cse_op_sample *sample;
} added_sample;

struct cse_op_trial {
    int format, count, capacity;
    added_sample *added;
    cse_graph *graph;
    cse_executable *compiled, *interpreter;
};

static cse_dtype dtype_of(const cse_op_trial *t, const cse_op_sample *sample, int input)
{
    const cse_dtype dtype = sample->inputs[input].dtype;
    return dtype == CSE_FLOAT32 ? formats[t->format].dtype : dtype;
}

/* Whether the op's shape rule takes the sample with floats of the format. */
static bool takes(const cse_op_trial *t, const cse_op *op, const cse_op_sample *sample)
{
    cse_shape shapes[CSE_MAX_INPUTS], shape = cse_scalar_shape;
    cse_dtype dtypes[CSE_MAX_INPUTS], dtype;
    bool narrow = t->format == 0;
    for (int i = 0; i < sample->input_count; i++) {
        shapes[i] = sample->inputs[i].shape;
        dtypes[i] = dtype_of(t, sample, i);
        narrow = narrow || dtypes[i] != sample->inputs[i].dtype;
    }
    const cse_infer in = { &sample->attributes, sample->input_count, shapes, dtypes };
    return narrow && op->infer(&in, &shape, &dtype) == CSE_OK;
}

/* fetched value = sum over the (one) microbatch of float32(op(inputs)) */
static void add_sample(cse_op_trial *t, const cse_op *op, const cse_op_sample *sample)
{
    cse_graph *graph = t->graph;
    cse_node *inputs[CSE_MAX_INPUTS];
    for (int i = 0; i < sample->input_count; i++) {
        const cse_attributes number = { .integer_count = 1, .integers = { graph->input_count } };
        inputs[i] = cse_graph_leaf(graph, &cse_op_input, &number, sample->inputs[i].shape,
                                   dtype_of(t, sample, i));
        CSE_GROW(graph->inputs, graph->input_count, graph->input_capacity);
        graph->inputs[graph->input_count++] =
            (cse_input_entry){ .name = cse_arena_printf(graph->arena, "%d.%d", t->count, i),
                               .shape = inputs[i]->shape,
                               .dtype = inputs[i]->dtype,
                               .node = inputs[i] };
    }
    cse_tensor *value =
        cse_cast(cse_trace(op, &sample->attributes, sample->input_count, inputs), CSE_FLOAT32);
    CSE_GROW(graph->fetches, graph->fetch_count, graph->fetch_capacity);
    graph->fetches[graph->fetch_count++] = (cse_fetch_entry){
        .name = cse_arena_printf(graph->arena, "%s, %s", op->name, sample->name),
        .value = cse_trace_1(&cse_op_batch_sum, NULL, value),
    };
    CSE_GROW(t->added, t->count, t->capacity);
    t->added[t->count++] = (added_sample){ op, sample };
}

static unsigned char *draw_inputs(const cse_op_trial *t)
{
    unsigned char *bytes = cse_aligned_calloc((size_t)t->graph->space_bytes[CSE_SPACE_INPUT] + 64);
    for (int n = 0, next = 0; n < t->count; n++)
        for (int i = 0; i < t->added[n].sample->input_count; i++, next++) {
            const cse_input_entry *entry = &t->graph->inputs[next];
            const bool is_float = cse_dtype_is_float(entry->dtype);
            double low = t->added[n].sample->inputs[i].low;
            double high = t->added[n].sample->inputs[i].high;
            if (low == 0 && high == 0) {
                low = is_float ? -1 : 0;
                high = is_float ? 1 : 2;
            }
            for (int64_t e = 0; e < cse_shape_elements(entry->shape); e++) {
                const uint32_t counter[4] = { (uint32_t)e, 0, 0, 0 };
                uint32_t words[4];
                cse_philox((uint64_t)(n * 16 + i), counter, words);
                const double value = low + (high - low) * (double)words[0] * 0x1p-32;
                cse_write_element(entry->dtype, bytes + entry->offset_bytes, e,
                                  is_float ? value : floor(value));
            }
        }
    return bytes;
}

static cse_status compare(const cse_op_trial *t, int number, const float *got,
                          const float *expected)
{
    const cse_op *op = t->added[number].op;
    const bool several = op->kind == CSE_OP_COMPOSITE || op->kernel.results > 1;
    const int64_t count = cse_shape_elements(t->graph->fetches[number].value->shape);
    for (int64_t e = 0; e < count; e++) {
        const double size = fabs((double)expected[e]);
        const double bound = t->added[number].sample->tolerance * fmax(1, size) +
                             formats[t->format].epsilon * (several ? 4 * fmax(1, size) : size) +
                             formats[t->format].least;
        const bool same = got[e] == expected[e] || (isnan(got[e]) && isnan(expected[e]));
        if (!same && !(fabs((double)got[e] - (double)expected[e]) <= bound))
            return cse_fail(CSE_DATA,
                            "\"%s\", element %lld is %.9g compiled and %.9g by the reference "
                            "kernel; %.3g is allowed",
                            t->graph->fetches[number].name, (long long)e, (double)got[e],
                            (double)expected[e], bound);
    }
    return CSE_OK;
}

static cse_status run_both(cse_op_trial *t)
{
    cse_straight_run ours, theirs;
    unsigned char *inputs = draw_inputs(t);
    cse_status status = CSE_OK;
    cse_straight_run_init(&ours, t->compiled, 1);
    cse_straight_run_init(&theirs, t->interpreter, 1);
    cse_straight_run_step(&ours, &inputs);
    cse_straight_run_step(&theirs, &inputs);
    for (int n = 0; n < t->count && status == CSE_OK; n++) {
        const int64_t at = t->graph->fetches[n].offset_bytes;
        status = compare(t, n, (const float *)(const void *)(ours.spaces[CSE_SPACE_FETCH] + at),
                         (const float *)(const void *)(theirs.spaces[CSE_SPACE_FETCH] + at));
    }
    cse_straight_run_clear(&ours);
    cse_straight_run_clear(&theirs);
    free(inputs);
    return status;
}

cse_dtype cse_op_trial_format(int format)
{
    return format < (int)(sizeof formats / sizeof formats[0]) ? formats[format].dtype
                                                              : CSE_DTYPE_COUNT;
}

cse_op_trial *cse_op_trial_new(int format)
{
    cse_op_trial *t = cse_calloc(1, sizeof *t);
    *t = (cse_op_trial){ .format = format, .graph = cse_graph_new(1, 8) };
    return t;
}

int cse_op_trial_add(cse_op_trial *t, const cse_op *op, const cse_op_sample *samples)
{
    const int before = t->count;
    cse_trace_begin(t->graph);
    for (const cse_op_sample *s = samples; s != NULL && s->name != NULL; s++)
        if (takes(t, op, s))
            add_sample(t, op, s);
    cse_trace_end();
    return t->count - before;
}

cse_status cse_op_trial_run(cse_op_trial *t, const char *disable, const char *folder)
{
    cse_compile_result compiled;
    CSE_TRY(cse_trace_status(t->graph));
    CSE_TRY(cse_passes_run(t->graph, &(cse_passes_options){ .disable = disable }));
    CSE_TRY(cse_codegen_compile(t->graph, folder, &compiled));
    CSE_TRY(cse_executable_open(compiled.directory, &t->compiled));
    CSE_TRY(cse_executable_interpret(t->graph, &t->interpreter));
    return run_both(t);
}

void cse_op_trial_destroy(cse_op_trial **trial)
{
    if ((*trial)->compiled != NULL)
        cse_executable_destroy(&(*trial)->compiled);
    if ((*trial)->interpreter != NULL)
        cse_executable_destroy(&(*trial)->interpreter);
    cse_graph_destroy(&(*trial)->graph);
    free((*trial)->added);
    free(*trial);
    *trial = NULL;
}

void cse_contract_op_code(cse_contract *contract, const cse_op *op)
{
    for (int f = 0; cse_op_trial_format(f) != CSE_DTYPE_COUNT; f++) {
        cse_op_trial *t = cse_op_trial_new(f);
        if (cse_op_trial_add(t, op, cse_contract_samples(contract, op, op->samples)) > 0)
            cse_contract_tell(contract, cse_op_trial_run(t, NULL, contract->folder),
                              "equals its reference in %s", cse_dtype_name(cse_op_trial_format(f)));
        cse_op_trial_destroy(&t);
    }
}

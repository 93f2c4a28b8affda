/* Each sample of an op runs, a composite equals what it expands to, compiled code equals the
 * reference kernel (op_code.c), and gradients agree with finite differences.
 *
 * Floats of a sample are evenly spaced values in a shuffled order, so that no two are nearer than
 * the step of the differences and no maximum changes its place. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/random.h"
#include "engine/graph/outside_ops.h"
#include "engine/graph/trace/arguments.h"
#include "run/contracts/contract.h"
#include "run/contracts/evaluate.h"
#include "run/contracts/op_code.h"

enum { SEED = 7, STEP = 3 };

/* One sample, traced. */
typedef struct scene {
    const cse_op *op;
    const cse_op_sample *sample;
    cse_graph *graph;
    cse_evaluation *values;
    cse_node *inputs[CSE_MAX_INPUTS];
    void *data[CSE_MAX_INPUTS];
    cse_node *node;
} scene;

static void fill_input(const cse_sample_input *input, int number, void *data)
{
    bool is_float = cse_dtype_is_float(input->dtype), given = input->low != 0 || input->high != 0;
    double low = given ? input->low : is_float ? -1 : 0;
    double high = given ? input->high : is_float ? 1 : 2;
    int64_t count = cse_shape_elements(input->shape);
    for (int64_t i = 0; i < count; i++) {
        uint32_t words[4];
        cse_draw_words(SEED, 0, 1, (uint32_t)number, (uint32_t)i, words);
        double place =
            (double)cse_permute((uint64_t)number + 1, (uint64_t)count, (uint64_t)i) + 0.5;
        double value = is_float ? low + (high - low) * place / (double)count
                                : floor(low + (high - low) * cse_uniform_from_bits(words[0]));
        cse_write_element(input->dtype, data, i, value);
    }
}

static cse_status set_up(scene *s, const cse_op *op, const cse_op_sample *sample)
{
    *s = (scene){ .op = op, .sample = sample, .graph = cse_graph_new(1, 1) };
    cse_trace_begin(s->graph);
    s->values = cse_evaluation_new(s->graph, SEED, STEP, 0);
    for (int i = 0; i < sample->input_count; i++) {
        const cse_sample_input *input = &sample->inputs[i];
        int64_t elements = cse_shape_elements(input->shape);
        s->inputs[i] = cse_graph_leaf(s->graph, &cse_op_input, NULL, input->shape, input->dtype);
        s->data[i] = cse_calloc((size_t)elements + 1, sizeof(float));
        fill_input(input, i, s->data[i]);
        cse_evaluation_set(s->values, s->inputs[i], s->data[i]);
    }
    s->node = cse_trace(op, &sample->attributes, sample->input_count, s->inputs);
    return cse_trace_status(s->graph);
}

static void tear_down(scene *s)
{
    cse_evaluation_destroy(&s->values);
    for (int i = 0; i < CSE_MAX_INPUTS; i++)
        free(s->data[i]);
    cse_trace_end();
    cse_graph_destroy(&s->graph);
}

/* ---- what a sample computes ---- */

static cse_status fill_output_twice_alike(scene *s)
{
    size_t bytes = (size_t)cse_shape_elements(s->node->shape) * cse_dtype_size(s->node->dtype);
    const void *inputs[CSE_MAX_INPUTS];
    unsigned char *first = cse_malloc(bytes + 1), *second = cse_malloc(bytes + 1);
    for (int i = 0; i < s->node->input_count; i++)
        inputs[i] = s->data[i];
    memset(first, 0x55, bytes);
    memset(second, 0xaa, bytes);
    cse_reference call = {
        .node = s->node, .inputs = inputs, .output = first, .seed = SEED, .step = STEP
    };
    s->op->reference(&call);
    call.output = second;
    s->op->reference(&call);
    cse_status status =
        memcmp(first, second, bytes) == 0
            ? CSE_OK
            : cse_fail(CSE_DATA, "two runs of the reference kernel differ: it leaves elements out");
    free(first);
    free(second);
    return status;
}

/* The sample's own tolerance bounds float32 steps against the kernel's double. */
static cse_status equal_expansion(scene *s)
{
    cse_node *expanded = s->op->expand(s->node);
    CSE_TRY(cse_trace_status(s->graph));
    if (!cse_shape_equal(expanded->shape, s->node->shape) || expanded->dtype != s->node->dtype)
        return cse_fail(CSE_DATA, "its expansion has another shape or type");
    const float *direct = cse_evaluation_values(s->values, s->node);
    const float *steps = cse_evaluation_values(s->values, expanded);
    for (int64_t i = 0; i < cse_shape_elements(s->node->shape); i++)
        if (!(fabs((double)direct[i] - (double)steps[i]) <=
              s->sample->tolerance * fmax(1, fabs((double)direct[i]))))
            return cse_fail(CSE_DATA, "element %lld: %.9g, expanded %.9g", (long long)i,
                            (double)direct[i], (double)steps[i]);
    return CSE_OK;
}

static cse_status writes_code(scene *s)
{
    cse_text text = { 0 };
    s->op->emit(&text, s->node);
    const bool good =
        text.data != NULL && strstr(text.data, "y[") != NULL && strstr(text.data, "x0[") != NULL;
    cse_text_clear(&text);
    return good ? CSE_OK : cse_fail(CSE_DATA, "emit writes no code that fills y[] from x0[]");
}

static cse_status run_sample(const cse_op *op, const cse_op_sample *sample)
{
    scene s;
    cse_status status = set_up(&s, op, sample);
    if (status == CSE_OK)
        status = fill_output_twice_alike(&s);
    if (status == CSE_OK && op->emit != NULL)
        status = writes_code(&s);
    if (status == CSE_OK && op->expand != NULL)
        status = equal_expansion(&s);
    tear_down(&s);
    return status;
}

/* ---- gradients ---- */

/* sum(output * weights) in double, with element `at` of input `number` moved to `value`. */
static double objective(scene *s, int number, int64_t at, float value, const float *weights)
{
    float *data = s->data[number], kept = data[at];
    data[at] = value;
    cse_evaluation_set(s->values, s->inputs[number], data);
    data[at] = kept;
    const float *y = cse_evaluation_values(s->values, s->node);
    double sum = 0;
    for (int64_t i = 0; i < cse_shape_elements(s->node->shape); i++)
        sum += (double)y[i] * (double)weights[i];
    return sum;
}

static double central(scene *s, int number, int64_t at, float step, const float *weights)
{
    float x = ((float *)s->data[number])[at];
    float above = x + step, below = x - step;
    double difference =
        objective(s, number, at, above, weights) - objective(s, number, at, below, weights);
    return difference / ((double)above - (double)below);
}

/* Two central differences, combined so that their h^2 terms cancel (Richardson). Outputs are
 * rounded to float32: with h = 2^-8 the difference of one output y is off by up to 2^-24 |y| / 2^-8
 * = 1.5e-5 |y|, three times that after the combination. Outputs near 10, and some tens of them that
 * move together, make 2e-3 at most; the h^4 term is below that for every sample. */
static cse_status compare_gradient(scene *s, int number, const float *gradient,
                                   const float *weights)
{
    const float step = 0x1p-8f;
    for (int64_t i = 0; i < cse_shape_elements(s->inputs[number]->shape); i++) {
        double wide = central(s, number, i, step, weights);
        double narrow = central(s, number, i, step / 2, weights);
        double expected = (4 * narrow - wide) / 3;
        if (!(fabs((double)gradient[i] - expected) <= 2e-3 * fmax(1, fabs(expected))))
            return cse_fail(CSE_DATA, "gradient %lld of input %d is %.9g, by differences %.9g",
                            (long long)i, number, (double)gradient[i], expected);
    }
    return CSE_OK;
}

static cse_status check_input_gradient(scene *s, int number, cse_node *gradient,
                                       const float *weights)
{
    if (!cse_shape_equal(gradient->shape, s->inputs[number]->shape) ||
        gradient->dtype != s->inputs[number]->dtype)
        return cse_fail(CSE_DATA, "the gradient of input %d has another shape or type", number);
    size_t bytes = (size_t)cse_shape_elements(s->inputs[number]->shape) * sizeof(float);
    float *values = cse_malloc(bytes + 1);
    memcpy(values, cse_evaluation_values(s->values, gradient), bytes);
    cse_status status = compare_gradient(s, number, values, weights);
    cse_evaluation_set(s->values, s->inputs[number], s->data[number]);
    free(values);
    return status;
}

static cse_status compare_gradients(scene *s)
{
    cse_node *gradients[CSE_MAX_INPUTS] = { NULL };
    cse_node *upstream =
        cse_graph_leaf(s->graph, &cse_op_input, NULL, s->node->shape, s->node->dtype);
    float *weights = cse_calloc((size_t)cse_shape_elements(s->node->shape) + 1, sizeof *weights);
    const cse_sample_input like = { s->node->shape, CSE_FLOAT32, -1, 1 };
    fill_input(&like, 9, weights);
    s->op->gradient(s->node, upstream, gradients);
    cse_status status = cse_trace_status(s->graph);
    for (int i = 0; i < s->node->input_count && status == CSE_OK; i++) {
        if (gradients[i] == NULL)
            continue;
        for (int k = 0; k < s->node->input_count; k++)
            cse_evaluation_set(s->values, s->inputs[k], s->data[k]);
        cse_evaluation_set(s->values, upstream, weights);
        status = check_input_gradient(s, i, gradients[i], weights);
    }
    free(weights);
    return status;
}

static cse_status check_gradient(const cse_op *op, const cse_op_sample *sample)
{
    scene s;
    cse_status status = set_up(&s, op, sample);
    if (status == CSE_OK)
        status = compare_gradients(&s);
    tear_down(&s);
    return status;
}

/* ---- the descriptor ---- */

static cse_status check_descriptor(const cse_op *op, const cse_op_sample *samples)
{
    const bool by_expression = op->kind == CSE_OP_ELEMENTWISE || op->kind == CSE_OP_REDUCE;
    const bool by_block = op->kind == CSE_OP_BLOCK || op->kind == CSE_OP_REDUCE;
    const bool combines = op->role == CSE_OP_ROLE_SUM || op->role == CSE_OP_ROLE_MAX;
    if (op->summary == NULL || op->summary[0] == '\0')
        return cse_fail(CSE_DATA, "it has no summary");
    if (op->infer == NULL || op->reference == NULL)
        return cse_fail(CSE_DATA, "it has no shape rule (infer) or no reference kernel");
    if (samples == NULL || samples[0].name == NULL)
        return cse_fail(CSE_DATA, "it has no samples");
    if ((op->expression != NULL) != by_expression || (op->emit != NULL) != by_block ||
        (op->expand != NULL) != (op->kind == CSE_OP_COMPOSITE) ||
        (op->kernel.make != NULL) != (op->kind == CSE_OP_LIBRARY))
        return cse_fail(CSE_DATA, "its kind and its expression, emit, expand or kernel do not fit");
    if (combines != (op->kind == CSE_OP_REDUCE) && !cse_op_is_outside(op))
        return cse_fail(CSE_DATA, "its role and its kind do not fit");
    if (op->precision == CSE_FAMILY_STRUCTURAL || op->min_inputs < 1 ||
        op->min_inputs > op->max_inputs)
        return cse_fail(CSE_DATA, "its precision family or its number of inputs is wrong");
    return cse_op_find(op->name) == op ? CSE_OK
                                       : cse_fail(CSE_DATA, "another op has the name %s", op->name);
}

void cse_contract_of_op(cse_contract *contract, const void *descriptor)
{
    const cse_op *op = descriptor;
    const cse_op_sample *samples = cse_contract_samples(contract, op, op->samples);
    cse_status status = check_descriptor(op, samples);
    cse_contract_tell(contract, status, "is complete");
    for (const cse_op_sample *s = samples; status == CSE_OK && s != NULL && s->name != NULL; s++) {
        cse_contract_tell(contract, run_sample(op, s), "runs on \"%s\"", s->name);
        if (op->gradient != NULL && !s->skip_gradient)
            cse_contract_tell(contract, check_gradient(op, s),
                              "has the gradient of finite differences on \"%s\"", s->name);
    }
    if (status == CSE_OK && cse_op_is_outside(op))
        cse_contract_op_code(contract, op);
}

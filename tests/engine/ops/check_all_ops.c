/* The contract of every op of engine/ops: what its descriptor must have, that each sample runs,
 * that a composite equals what it expands to, and that gradients agree with finite differences.
 *
 * Floats of a sample are evenly spaced values in a shuffled order, so that no two are nearer than
 * the step of the differences and no maximum changes its place. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/random.h"
#include "engine/trace/arguments.h"
#include "tests/support/evaluate.h"

enum { MOST_SAMPLES = 512, SEED = 7, STEP = 3 };

typedef struct sampled {
    const cse_op *op;
    const cse_op_sample *sample;
} sampled;

static sampled all[MOST_SAMPLES];
static int all_count;

static void list_samples(void)
{
    for (int i = 0; cse_ops[i] != NULL; i++)
        for (const cse_op_sample *s = cse_ops[i]->samples; s != NULL && s->name != NULL; s++) {
            if (all_count == MOST_SAMPLES) /* before Check runs: its assertions cannot be used */
                abort();
            all[all_count++] = (sampled){ cse_ops[i], s };
        }
}

/* One sample, traced. */
typedef struct scene {
    cse_graph *graph;
    evaluation *values;
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

static scene set_up(const sampled *at)
{
    scene s = { .graph = cse_graph_new(1, 1) };
    cse_trace_begin(s.graph);
    s.values = evaluation_new(s.graph, SEED, STEP, 0);
    for (int i = 0; i < at->sample->input_count; i++) {
        const cse_sample_input *input = &at->sample->inputs[i];
        int64_t elements = cse_shape_elements(input->shape);
        s.inputs[i] = cse_graph_leaf(s.graph, &cse_op_input, NULL, input->shape, input->dtype);
        s.data[i] = cse_calloc((size_t)elements + 1, sizeof(float));
        fill_input(input, i, s.data[i]);
        evaluation_set(s.values, s.inputs[i], s.data[i]);
    }
    s.node = cse_trace(at->op, &at->sample->attributes, at->sample->input_count, s.inputs);
    ck_assert_msg(cse_trace_status(s.graph) == CSE_OK, "%s, %s: %s", at->op->name, at->sample->name,
                  cse_error_message());
    return s;
}

static void tear_down(scene *s)
{
    evaluation_destroy(&s->values);
    for (int i = 0; i < CSE_MAX_INPUTS; i++)
        free(s->data[i]);
    cse_trace_end();
    cse_graph_destroy(&s->graph);
}

START_TEST(a_descriptor_is_complete)
{
    for (int i = 0; cse_ops[i] != NULL; i++) {
        const cse_op *op = cse_ops[i];
        ck_assert_msg(op->summary != NULL && op->summary[0] != '\0', "%s: no summary", op->name);
        ck_assert_msg(op->infer != NULL, "%s: no shape rule", op->name);
        ck_assert_msg(op->reference != NULL, "%s: no reference kernel", op->name);
        ck_assert_msg(op->samples != NULL && op->samples[0].name != NULL, "%s: no samples",
                      op->name);
        ck_assert_ptr_eq(cse_op_find(op->name), op);
        bool by_expression = op->kind == CSE_OP_ELEMENTWISE || op->kind == CSE_OP_REDUCE;
        ck_assert_msg((op->expression != NULL) == by_expression, "%s: expression", op->name);
        bool by_block = op->kind == CSE_OP_BLOCK || op->kind == CSE_OP_REDUCE;
        ck_assert_msg((op->emit != NULL) == by_block, "%s: emit", op->name);
        ck_assert_msg((op->expand != NULL) == (op->kind == CSE_OP_COMPOSITE), "%s: expand",
                      op->name);
        ck_assert_msg((op->kernel.make != NULL) == (op->kind == CSE_OP_LIBRARY), "%s: kernel",
                      op->name);
        bool combines = op->role == CSE_OP_ROLE_SUM || op->role == CSE_OP_ROLE_MAX;
        ck_assert_msg(combines == (op->kind == CSE_OP_REDUCE), "%s: combiner", op->name);
        ck_assert_msg(op->precision != CSE_FAMILY_STRUCTURAL, "%s: precision", op->name);
        ck_assert_msg(op->min_inputs >= 1 && op->min_inputs <= op->max_inputs, "%s: inputs",
                      op->name);
    }
}
END_TEST

static void run_twice(const sampled *at)
{
    scene s = set_up(at);
    size_t bytes = (size_t)cse_shape_elements(s.node->shape) * cse_dtype_size(s.node->dtype);
    const void *inputs[CSE_MAX_INPUTS];
    unsigned char *first = cse_malloc(bytes + 1), *second = cse_malloc(bytes + 1);
    for (int i = 0; i < s.node->input_count; i++)
        inputs[i] = s.data[i];
    memset(first, 0x55, bytes);
    memset(second, 0xaa, bytes);
    cse_reference call = {
        .node = s.node, .inputs = inputs, .output = first, .seed = SEED, .step = STEP
    };
    s.node->op->reference(&call);
    call.output = second;
    s.node->op->reference(&call);
    ck_assert_msg(memcmp(first, second, bytes) == 0, "%s, %s: the output differs", at->op->name,
                  at->sample->name);
    free(first);
    free(second);
    tear_down(&s);
}

START_TEST(a_sample_runs_and_fills_its_output_twice_alike)
{
    for (int i = 0; i < all_count; i++)
        run_twice(&all[i]);
}
END_TEST

static void write_code(const sampled *at)
{
    scene s = set_up(at);
    if (s.node->op->emit != NULL) {
        cse_text text = { 0 };
        s.node->op->emit(&text, s.node);
        ck_assert_ptr_nonnull(strstr(text.data, "y["));
        ck_assert_ptr_nonnull(strstr(text.data, "x0["));
        cse_text_clear(&text);
    }
    tear_down(&s);
}

START_TEST(a_block_or_reduction_writes_code)
{
    for (int i = 0; i < all_count; i++)
        write_code(&all[i]);
}
END_TEST

/* The sample's own tolerance bounds float32 steps against the kernel's double. */
static void compare_with_expansion(const sampled *at)
{
    scene s = set_up(at);
    if (s.node->op->expand != NULL) {
        cse_node *expanded = s.node->op->expand(s.node);
        ck_assert_int_eq(cse_trace_status(s.graph), CSE_OK);
        ck_assert(cse_shape_equal(expanded->shape, s.node->shape));
        ck_assert_int_eq(expanded->dtype, s.node->dtype);
        const float *direct = evaluation_values(s.values, s.node);
        const float *steps = evaluation_values(s.values, expanded);
        for (int64_t i = 0; i < cse_shape_elements(s.node->shape); i++)
            ck_assert_msg(fabs(direct[i] - steps[i]) <=
                              at->sample->tolerance * fmax(1, fabs(direct[i])),
                          "%s, %s, element %lld: %.9g, expanded %.9g", at->op->name,
                          at->sample->name, (long long)i, direct[i], steps[i]);
    }
    tear_down(&s);
}

START_TEST(a_composite_equals_its_expansion)
{
    for (int i = 0; i < all_count; i++)
        compare_with_expansion(&all[i]);
}
END_TEST

/* sum(output * weights) in double, with element `at` of input `number` moved to `value`. */
static double objective(scene *s, int number, int64_t at, float value, const float *weights)
{
    float *data = s->data[number], kept = data[at];
    data[at] = value;
    evaluation_set(s->values, s->inputs[number], data);
    data[at] = kept;
    const float *y = evaluation_values(s->values, s->node);
    double sum = 0;
    for (int64_t i = 0; i < cse_shape_elements(s->node->shape); i++)
        sum += (double)y[i] * weights[i];
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
static void compare_gradient(scene *s, const sampled *at, int number, const float *gradient,
                             const float *weights)
{
    const float step = 0x1p-8f;
    for (int64_t i = 0; i < cse_shape_elements(s->inputs[number]->shape); i++) {
        double wide = central(s, number, i, step, weights);
        double narrow = central(s, number, i, step / 2, weights);
        double expected = (4 * narrow - wide) / 3;
        ck_assert_msg(fabs(gradient[i] - expected) <= 2e-3 * fmax(1, fabs(expected)),
                      "%s, %s: gradient %lld of input %d is %.9g, by differences %.9g",
                      at->op->name, at->sample->name, (long long)i, number, gradient[i], expected);
    }
}

START_TEST(gradients_agree_with_finite_differences)
{
    const sampled *at = &all[_i];
    if (at->op->gradient == NULL || at->sample->skip_gradient)
        return;
    scene s = set_up(at);
    cse_node *gradients[CSE_MAX_INPUTS] = { NULL };
    cse_node *upstream = cse_graph_leaf(s.graph, &cse_op_input, NULL, s.node->shape, s.node->dtype);
    int64_t count = cse_shape_elements(s.node->shape);
    float *weights = cse_calloc((size_t)count + 1, sizeof *weights);
    const cse_sample_input like = { s.node->shape, CSE_FLOAT32, -1, 1 };
    fill_input(&like, 9, weights);
    at->op->gradient(s.node, upstream, gradients);
    ck_assert_msg(cse_trace_status(s.graph) == CSE_OK, "%s, %s: %s", at->op->name, at->sample->name,
                  cse_error_message());
    for (int i = 0; i < s.node->input_count; i++) {
        if (gradients[i] == NULL)
            continue;
        size_t bytes = (size_t)cse_shape_elements(s.inputs[i]->shape) * sizeof(float);
        ck_assert(cse_shape_equal(gradients[i]->shape, s.inputs[i]->shape));
        ck_assert_int_eq(gradients[i]->dtype, s.inputs[i]->dtype);
        for (int k = 0; k < s.node->input_count; k++)
            evaluation_set(s.values, s.inputs[k], s.data[k]);
        evaluation_set(s.values, upstream, weights);
        float *gradient = cse_malloc(bytes + 1);
        memcpy(gradient, evaluation_values(s.values, gradients[i]), bytes);
        compare_gradient(&s, at, i, gradient, weights);
        evaluation_set(s.values, s.inputs[i], s.data[i]);
        free(gradient);
    }
    free(weights);
    tear_down(&s);
}
END_TEST

/* An op whose output is a float and depends smoothly on a float must say how. */
START_TEST(every_float_op_of_floats_has_a_gradient_or_says_why_not)
{
    static const char *const without[] = { "max_pool2d_gradient", "fused_attention",
                                           "fused_attention_gradient", NULL };
    for (int i = 0; i < all_count; i++) {
        scene s = set_up(&all[i]);
        bool listed = false, from_float = cse_dtype_is_float(s.inputs[0]->dtype);
        for (int k = 0; without[k] != NULL; k++)
            listed = listed || strcmp(without[k], all[i].op->name) == 0;
        if (from_float && cse_dtype_is_float(s.node->dtype) && !listed)
            ck_assert_msg(all[i].op->gradient != NULL, "%s: no gradient", all[i].op->name);
        tear_down(&s);
    }
}
END_TEST

int main(void)
{
    list_samples();
    Suite *suite = suite_create("all ops");
    TCase *contract = tcase_create("contract");
    tcase_set_timeout(contract, 60);
    tcase_add_test(contract, a_descriptor_is_complete);
    tcase_add_test(contract, every_float_op_of_floats_has_a_gradient_or_says_why_not);
    tcase_add_test(contract, a_sample_runs_and_fills_its_output_twice_alike);
    tcase_add_test(contract, a_block_or_reduction_writes_code);
    tcase_add_test(contract, a_composite_equals_its_expansion);
    tcase_add_loop_test(contract, gradients_agree_with_finite_differences, 0, all_count);
    suite_add_tcase(suite, contract);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}

/* Public functions that are several ops each, against PyTorch, forward and backward, in every
 * format: traced, planned and compiled as in a step, all of them in one graph.
 *
 * Values come from tests/reference/make_function_values.py, whose inputs every 16-bit format holds
 * exactly: what differs are roundings alone. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/graph/ops/loss_quotient.h"
#include "engine/graph/trace/arguments.h"
#include "tests/support/compiled_graph.h"

enum { MOST_INPUTS = 4, MOST_CASES = 128 };

typedef struct reference_tensor {
    cse_shape shape;
    cse_dtype dtype;
    const double *values; /* NULL: not given */
} reference_tensor;

typedef struct function_case {
    const char *name;
    int input_count;
    reference_tensor inputs[MOST_INPUTS];
    reference_tensor output;
    reference_tensor upstream; /* weights of the outputs in the scalar that is differentiated */
    reference_tensor gradients[MOST_INPUTS];
} function_case;

#define V(...)       \
    (const double[]) \
    {                \
        __VA_ARGS__  \
    }
#include "tests/reference/function_values_attention.h"
#include "tests/reference/function_values_losses.h"
#include "tests/reference/function_values_moves.h"
#include "tests/reference/function_values_shapes.h"

/* MAKE(name, expression): the function of the engine that the case `name` is; its inputs are x[0],
 * x[1], ... Those of a 16-bit format come as that, int32 and bool as they are. */
#define MAKE(name, ...)                            \
    static cse_tensor *name(cse_tensor *const x[]) \
    {                                              \
        return __VA_ARGS__;                        \
    }

/* ---- attention and positions ---- */

#define ATTENTION(...) \
    cse_scaled_dot_product_attention(x[0], x[1], x[2], &(cse_attention_options){ __VA_ARGS__ })
MAKE(attention_scale, ATTENTION(.scale = 0.75))
MAKE(attention_additive_mask, ATTENTION(.mask = x[3]))
MAKE(attention_head_bias, ATTENTION(.mask = x[3]))
MAKE(attention_bool_mask, ATTENTION(.mask = x[3]))
MAKE(attention_key_lengths, ATTENTION(.key_lengths = x[3]))
MAKE(attention_causal_window, ATTENTION(.causal = true, .window = 3))
MAKE(attention_window, ATTENTION(.window = 2))
MAKE(attention_grouped, ATTENTION(.causal = true))
MAKE(attention_infinite_mask,
     ATTENTION(.mask = cse_where(x[3], cse_constant(0), cse_constant(-INFINITY))))
MAKE(rotary, cse_rotary_embedding(x[0], NULL))
MAKE(rotary_interleaved,
     cse_rotary_embedding(x[0], &(cse_rotary_options){ .base = 100, .interleaved = true }))
MAKE(rotary_positions,
     cse_rotary_embedding(x[0], &(cse_rotary_options){ .positions = x[1], .size = 2 }))
MAKE(alibi_8, cse_add(x[0], cse_cast(cse_alibi_bias(8, 2, 3), cse_tensor_dtype(x[0]))))
MAKE(alibi_6, cse_add(x[0], cse_cast(cse_alibi_bias(6, 1, 4), cse_tensor_dtype(x[0]))))
MAKE(relative_bias, cse_relative_bias(x[0], 2, 3, NULL))
MAKE(relative_bias_far,
     cse_relative_bias(x[0], 40, 1, &(cse_relative_bias_options){ .max_distance = 20 }))
MAKE(relative_bias_both,
     cse_relative_bias(x[0], 1, 40,
                       &(cse_relative_bias_options){ .bidirectional = true, .max_distance = 32 }))

/* ---- norms and losses ---- */

MAKE(group_norm, cse_group_norm(x[0], 2, x[1], x[2], 1e-5))
MAKE(instance_norm, cse_group_norm(x[0], 4, NULL, NULL, 1e-5))
MAKE(layer_norm_plain, cse_layer_norm(x[0], NULL, NULL, 1e-5))
MAKE(batch_norm_plain, cse_batch_norm(x[0], NULL, NULL, 1e-5))
MAKE(batch_norm, cse_batch_norm(x[0], x[1], x[2], 1e-5))
MAKE(var, cse_var(x[0], cse_axes(1), 1, false))
MAKE(var_population, cse_var(x[0], cse_axes(0, 1), 0, true))
MAKE(std, cse_std(x[0], cse_axes(0), 1, false))

#define CROSS_ENTROPY(...) \
    cse_cross_entropy_with(x[0], x[1], &(cse_cross_entropy_options){ __VA_ARGS__ })
MAKE(cross_entropy_mean, cse_cross_entropy_with(x[0], x[1], NULL))
MAKE(cross_entropy_sum, CROSS_ENTROPY(.reduction = CSE_REDUCTION_SUM))
MAKE(cross_entropy_none, CROSS_ENTROPY(.reduction = CSE_REDUCTION_NONE))
MAKE(cross_entropy_negative, cse_cross_entropy_with(x[0], x[1], NULL))
MAKE(cross_entropy_ignore_2, CROSS_ENTROPY(.has_ignore_index = true, .ignore_index = 2))
MAKE(cross_entropy_ignore_255, CROSS_ENTROPY(.has_ignore_index = true, .ignore_index = 255))
MAKE(cross_entropy_weights, CROSS_ENTROPY(.class_weights = cse_stop_gradient(x[2])))
MAKE(cross_entropy_smoothing, CROSS_ENTROPY(.label_smoothing = 0.25))
MAKE(cross_entropy_all,
     CROSS_ENTROPY(.has_ignore_index = true, .ignore_index = 1,
                   .class_weights = cse_stop_gradient(x[2]), .label_smoothing = 0.25))
#define NLL(...) cse_nll_loss(x[0], x[1], &(cse_cross_entropy_options){ __VA_ARGS__ })
MAKE(nll_loss, NLL(.class_weights = cse_stop_gradient(x[2])))
MAKE(nll_loss_none, NLL(.reduction = CSE_REDUCTION_NONE))
MAKE(mse_loss, cse_mse_loss(x[0], x[1], CSE_REDUCTION_MEAN))
MAKE(l1_loss, cse_l1_loss(x[0], x[1], CSE_REDUCTION_SUM))
MAKE(smooth_l1_loss, cse_smooth_l1_loss(x[0], x[1], 0.5, CSE_REDUCTION_MEAN))
MAKE(huber_loss, cse_huber_loss(x[0], x[1], 0.75, CSE_REDUCTION_NONE))
MAKE(bce_with_logits, cse_bce_with_logits(x[0], cse_stop_gradient(x[1]), NULL, CSE_REDUCTION_MEAN))
MAKE(bce_pos_weight, cse_bce_with_logits(x[0], cse_stop_gradient(x[1]), cse_stop_gradient(x[2]),
                                         CSE_REDUCTION_NONE))
MAKE(kl_div, cse_kl_div(x[0], cse_stop_gradient(x[1]), false, CSE_REDUCTION_SUM))
MAKE(kl_div_log, cse_kl_div(x[0], x[1], true, CSE_REDUCTION_MEAN))

MAKE(softplus, cse_softplus(x[0]))
MAKE(leaky_relu, cse_leaky_relu(x[0], 0.125))
MAKE(elu, cse_elu(x[0], 1.5))
MAKE(hardtanh, cse_clamp(x[0], -1, 1))
MAKE(clamp_low, cse_clamp(x[0], -0.5, INFINITY))
MAKE(glu, cse_glu(x[0], 1))
MAKE(swiglu, cse_swiglu(x[0], x[1]))
MAKE(gelu_tanh, cse_gelu(x[0], true))

/* ---- shapes ---- */

MAKE(logsumexp, cse_logsumexp(x[0], 1, false))
MAKE(logsumexp_kept, cse_logsumexp(x[0], 0, true))
MAKE(prod, cse_prod(x[0], 1, false))
MAKE(prod_kept, cse_prod(x[0], 0, true))
MAKE(tril, cse_tril(x[0], -1))
MAKE(triu, cse_triu(x[0], 1))
MAKE(repeat, cse_repeat(x[0], (const int64_t[]){ 2, 3 }))
MAKE(repeat_interleave, cse_repeat_interleave(x[0], 0, 3))
MAKE(stack, cse_stack(x, 2, 1))
MAKE(scatter_along, cse_scatter_along(x[0], x[1], x[2], 1))
MAKE(pixel_shuffle, cse_pixel_shuffle(x[0], 2))
MAKE(pixel_unshuffle, cse_pixel_unshuffle(x[0], 2))
MAKE(embedding_padded, cse_embedding_padded(x[0], x[1], 0))
MAKE(top_k_values, cse_take_along(x[0], cse_top_k(x[0], 1, 2), 1))
MAKE(einsum_scores, cse_einsum("bhqd, bhkd -> bhqk", x, 2))
MAKE(einsum_order, cse_einsum("abc,cd->dba", x, 2))
MAKE(einsum_sums, cse_einsum("abx,yb->a", x, 2))
MAKE(einsum_outer, cse_einsum("i,j->ij", x, 2))
MAKE(einsum_one, cse_einsum("abc->ca", x, 1))
MAKE(stop_gradient, cse_mul(cse_stop_gradient(x[0]), x[0]))

static cse_tensor *concat_40(cse_tensor *const x[])
{
    cse_tensor *parts[40];
    for (int i = 0; i < 40; i++)
        parts[i] = cse_scale(cse_slice_axis(x[0], 1, i, i + 1), i % 3);
    return cse_concat(parts, 40, 1);
}

static cse_tensor *split(cse_tensor *const x[])
{
    cse_tensor *parts[2];
    cse_split(x[0], 1, (const int64_t[]){ 1, 3 }, 2, parts);
    return cse_scale(parts[1], 2);
}

static cse_tensor *chunk(cse_tensor *const x[])
{
    cse_tensor *parts[3];
    ck_assert_int_eq(cse_chunk(x[0], 0, 3, parts), 3);
    return cse_add(parts[2], parts[0]);
}

MAKE(conv1d, cse_conv1d(x[0], x[1], x[2], &(cse_conv1d_options){ 2, 1, 2, 2 }))
MAKE(conv_transpose1d, cse_conv_transpose1d(x[0], x[1], x[2],
                                            &(cse_conv_transpose1d_options){
                                                .stride = 2, .padding = 1, .output_padding = 1 }))
MAKE(conv_transpose2d, cse_conv_transpose2d(x[0], x[1], NULL,
                                            &(cse_conv_transpose2d_options){
                                                { 2, 1 }, { 1, 0 }, { 1, 0 }, { 1, 2 }, 2 }))
#define INTERPOLATE(...) cse_interpolate(x[0], &(cse_interpolate_options){ __VA_ARGS__ })
MAKE(nearest_up, INTERPOLATE(.size = { 6, 8 }))
MAKE(nearest_odd, INTERPOLATE(.size = { 4, 3 }))
MAKE(bilinear_up, INTERPOLATE({ 6, 8 }, true, false))
MAKE(bilinear_odd, INTERPOLATE({ 4, 3 }, true, false))
MAKE(bilinear_corners_up, INTERPOLATE({ 6, 8 }, true, true))
MAKE(bilinear_corners_odd, INTERPOLATE({ 4, 3 }, true, true))
MAKE(adaptive_even, cse_adaptive_avg_pool2d(x[0], 1, 2))
MAKE(adaptive_odd, cse_adaptive_avg_pool2d(x[0], 2, 3))

/* ---- moves and sums along axes ---- */

/* A bool as 0 and 1 of x's type. */
static cse_tensor *times(cse_tensor *x, cse_tensor *condition)
{
    return cse_mul(x, cse_cast(condition, cse_tensor_dtype(x)));
}

static cse_tensor *above(cse_tensor *x, double limit)
{
    return cse_greater(x, cse_cast(cse_constant(limit), cse_tensor_dtype(x)));
}

static cse_tensor *batch_statistic(cse_tensor *x, int which)
{
    cse_tensor *statistics[2];
    cse_batch_statistics(x, statistics);
    return cse_cast(statistics[which], cse_tensor_dtype(x));
}

MAKE(shift, cse_shift(x[0], 0.75))
MAKE(roll, cse_roll(x[0], 1, 2))
MAKE(roll_back, cse_roll(x[0], 0, -1))
MAKE(min, cse_min(x[0], cse_axes(1), false))
MAKE(min_kept, cse_min(x[0], cse_axes(0, 1), true))
MAKE(any, times(x[0], cse_any(above(x[0], 1), cse_axes(0), true)))
MAKE(all, times(x[0], cse_all(above(x[0], -1), cse_axes(1), true)))
MAKE(index_select, cse_index_select(x[0], 0, x[1]))
MAKE(sort, cse_sort(x[0], 1, false))
MAKE(sort_falling, cse_sort(x[0], 0, true))
MAKE(argsort, cse_mul(cse_take_along(x[0], cse_argsort(x[0], 1, false), 1),
                      cse_cast(cse_iota(5, 0, 1), cse_tensor_dtype(x[0]))))
MAKE(argmin, cse_take_along(x[0], cse_reshape(cse_argmin(x[0], 1), cse_shape_of(3, 1)), 1))
MAKE(flatten, cse_scale(cse_flatten(x[0], 1), 2))
MAKE(mean, cse_mean(x[0], cse_axes(1), false))
MAKE(mean_all, cse_mean_all(x[0]))
MAKE(linear, cse_linear(x[0], x[1], x[2]))
MAKE(pad_between, cse_pad_between(x[0], (const int64_t[]){ 0, 1 }, (const int64_t[]){ 0, 0 },
                                  (const int64_t[]){ 0, 2 }, 0.5))
/* Sums into a table are of float32 alone. */
MAKE(scatter_add_to,
     cse_cast(cse_scatter_add_to(cse_cast(x[0], CSE_FLOAT32), cse_cast(x[1], CSE_FLOAT32), x[2]),
              cse_tensor_dtype(x[0])))
MAKE(nll, cse_nll(x[0], x[1]))
MAKE(cross_entropy_rows, cse_cross_entropy_per_sample(x[0], x[1]))
MAKE(embedding, cse_embedding(x[0], x[1]))
MAKE(batch_mean, batch_statistic(x[0], 0))
MAKE(batch_variance, batch_statistic(x[0], 1))

static const struct {
    const char *name;
    cse_tensor *(*make)(cse_tensor *const x[]);
} functions[] = {
#define FUNCTION(name) \
    {                  \
#name, name    \
    }
    FUNCTION(attention_scale),
    FUNCTION(attention_additive_mask),
    FUNCTION(attention_head_bias),
    FUNCTION(attention_bool_mask),
    FUNCTION(attention_key_lengths),
    FUNCTION(attention_causal_window),
    FUNCTION(attention_window),
    FUNCTION(attention_grouped),
    FUNCTION(attention_infinite_mask),
    FUNCTION(rotary),
    FUNCTION(rotary_interleaved),
    FUNCTION(rotary_positions),
    FUNCTION(alibi_8),
    FUNCTION(alibi_6),
    FUNCTION(relative_bias),
    FUNCTION(relative_bias_far),
    FUNCTION(relative_bias_both),
    FUNCTION(group_norm),
    FUNCTION(instance_norm),
    FUNCTION(layer_norm_plain),
    FUNCTION(batch_norm_plain),
    FUNCTION(batch_norm),
    FUNCTION(var),
    FUNCTION(var_population),
    FUNCTION(std),
    FUNCTION(cross_entropy_mean),
    FUNCTION(cross_entropy_sum),
    FUNCTION(cross_entropy_none),
    FUNCTION(cross_entropy_negative),
    FUNCTION(cross_entropy_ignore_2),
    FUNCTION(cross_entropy_ignore_255),
    FUNCTION(cross_entropy_weights),
    FUNCTION(cross_entropy_smoothing),
    FUNCTION(cross_entropy_all),
    FUNCTION(nll_loss),
    FUNCTION(nll_loss_none),
    FUNCTION(mse_loss),
    FUNCTION(l1_loss),
    FUNCTION(smooth_l1_loss),
    FUNCTION(huber_loss),
    FUNCTION(bce_with_logits),
    FUNCTION(bce_pos_weight),
    FUNCTION(kl_div),
    FUNCTION(kl_div_log),
    FUNCTION(softplus),
    FUNCTION(leaky_relu),
    FUNCTION(elu),
    FUNCTION(hardtanh),
    FUNCTION(clamp_low),
    FUNCTION(glu),
    FUNCTION(swiglu),
    FUNCTION(gelu_tanh),
    FUNCTION(logsumexp),
    FUNCTION(logsumexp_kept),
    FUNCTION(prod),
    FUNCTION(prod_kept),
    FUNCTION(tril),
    FUNCTION(triu),
    FUNCTION(repeat),
    FUNCTION(repeat_interleave),
    FUNCTION(stack),
    FUNCTION(concat_40),
    FUNCTION(split),
    FUNCTION(chunk),
    FUNCTION(scatter_along),
    FUNCTION(pixel_shuffle),
    FUNCTION(pixel_unshuffle),
    FUNCTION(embedding_padded),
    FUNCTION(top_k_values),
    FUNCTION(einsum_scores),
    FUNCTION(einsum_order),
    FUNCTION(einsum_sums),
    FUNCTION(einsum_outer),
    FUNCTION(einsum_one),
    FUNCTION(stop_gradient),
    FUNCTION(conv1d),
    FUNCTION(conv_transpose1d),
    FUNCTION(conv_transpose2d),
    FUNCTION(nearest_up),
    FUNCTION(nearest_odd),
    FUNCTION(bilinear_up),
    FUNCTION(bilinear_odd),
    FUNCTION(bilinear_corners_up),
    FUNCTION(bilinear_corners_odd),
    FUNCTION(adaptive_even),
    FUNCTION(adaptive_odd),
    FUNCTION(shift),
    FUNCTION(roll),
    FUNCTION(roll_back),
    FUNCTION(min),
    FUNCTION(min_kept),
    FUNCTION(any),
    FUNCTION(all),
    FUNCTION(index_select),
    FUNCTION(sort),
    FUNCTION(sort_falling),
    FUNCTION(argsort),
    FUNCTION(argmin),
    FUNCTION(flatten),
    FUNCTION(mean),
    FUNCTION(mean_all),
    FUNCTION(linear),
    FUNCTION(pad_between),
    FUNCTION(scatter_add_to),
    FUNCTION(nll),
    FUNCTION(cross_entropy_rows),
    FUNCTION(embedding),
    FUNCTION(batch_mean),
    FUNCTION(batch_variance),
};

enum { FUNCTIONS = sizeof functions / sizeof *functions };

static const function_case *find(const char *name)
{
    static const struct {
        const function_case *cases;
        size_t count;
    } groups[] = { { attention_cases, sizeof attention_cases / sizeof *attention_cases },
                   { losses_cases, sizeof losses_cases / sizeof *losses_cases },
                   { shapes_cases, sizeof shapes_cases / sizeof *shapes_cases },
                   { moves_cases, sizeof moves_cases / sizeof *moves_cases } };
    for (int g = 0; g < 4; g++)
        for (size_t i = 0; i < groups[g].count; i++)
            if (strcmp(groups[g].cases[i].name, name) == 0)
                return &groups[g].cases[i];
    ck_abort_msg("there are no values for %s", name);
}

/* Distance of 1 and the next value in each format. Up to sixteen roundings of an intermediate that
 * is as large as the largest value of the result or 1, on the way to it; float32 sums of some tens
 * of terms stay far below that. */
static const struct {
    cse_dtype dtype;
    double epsilon;
} formats[] = { { CSE_FLOAT32, 0x1p-23 },
                { CSE_BFLOAT16, 0x1p-7 },
                { CSE_FLOAT16, 0x1p-10 },
                { CSE_CBFLOAT16, 0x1p-9 } };
enum { ROUNDINGS = 16 };

/* What one case put into the graph: its first input and its first fetched value. */
typedef struct place {
    const function_case *at;
    int input, upstream, fetch;
} place;

static place places[FUNCTIONS];

static cse_tensor *given(cse_graph *graph, const char *name, const reference_tensor *tensor)
{
    return fixture_input(graph, name, tensor->shape, tensor->dtype);
}

/* A mean over the rows that count, of the whole batch; others as they are. */
static cse_tensor *whole(cse_tensor *value)
{
    const cse_loss_parts *parts = cse_loss_parts_of(value);
    return parts != NULL ? cse_div(cse_trace_1(&cse_op_batch_sum, NULL, parts->terms[0].value),
                                   parts->terms[0].divisor)
                         : value;
}

/* Fetches the function's value and the gradients that PyTorch has. */
static void add_function(cse_graph *graph, int number, cse_dtype format)
{
    const function_case *at = find(functions[number].name);
    cse_tensor *inputs[MOST_INPUTS], *narrow[MOST_INPUTS];
    char name[128];
    places[number] =
        (place){ at, graph->input_count, graph->input_count + at->input_count, graph->fetch_count };
    for (int i = 0; i < at->input_count; i++) {
        snprintf(name, sizeof name, "%s.%d", at->name, i);
        inputs[i] = given(graph, name, &at->inputs[i]);
        bool is_float = at->inputs[i].dtype == CSE_FLOAT32;
        narrow[i] = is_float ? cse_cast(inputs[i], format) : inputs[i];
    }
    snprintf(name, sizeof name, "%s.upstream", at->name);
    cse_tensor *upstream = given(graph, name, &at->upstream);
    cse_tensor *made = cse_cast(functions[number].make(narrow), CSE_FLOAT32);
    ck_assert_msg(graph->error == CSE_OK, "%s: %s", at->name, graph->error_message);
    ck_assert_msg(cse_shape_equal(made->shape, at->output.shape), "%s: shape", at->name);
    cse_tensor *scalar = cse_sum_all(cse_mul(made, upstream));
    const cse_loss_parts *parts = cse_loss_parts_of(scalar);
    scalar = parts != NULL ? parts->terms[0].value : scalar;
    fixture_fetch(graph, at->name, whole(made));
    for (int i = 0; i < at->input_count; i++)
        if (at->gradients[i].values != NULL) {
            snprintf(name, sizeof name, "gradient %d of %s", i, at->name);
            fixture_fetch(graph, name, cse_trace_2(&cse_op_gradient, NULL, scalar, inputs[i]));
        }
}

static void set_input(const cse_graph *graph, const fixture_memory *memory, int input,
                      const reference_tensor *tensor)
{
    const cse_input_entry *entry = &graph->inputs[input];
    for (int64_t e = 0; e < cse_shape_elements(tensor->shape); e++)
        cse_write_element(tensor->dtype, memory->base[CSE_SPACE_INPUT] + entry->offset_bytes, e,
                          tensor->values[e]);
}

static void compare(const cse_graph *graph, const fixture_memory *memory, int number,
                    const reference_tensor *expected, double epsilon)
{
    const cse_fetch_entry *fetch = &graph->fetches[number];
    const void *got = memory->base[CSE_SPACE_FETCH] + fetch->offset_bytes;
    int64_t count = cse_shape_elements(expected->shape);
    double largest = 1;
    for (int64_t e = 0; e < count; e++)
        largest = fmax(largest, fabs(expected->values[e]));
    for (int64_t e = 0; e < count; e++) {
        double value = cse_read_element(CSE_FLOAT32, got, e), wanted = expected->values[e];
        ck_assert_msg(fabs(value - wanted) <= ROUNDINGS * epsilon * largest,
                      "%s, element %lld: %.9g, expected %.9g", fetch->name, (long long)e, value,
                      wanted);
    }
}

static void compare_function(const cse_graph *graph, const fixture_memory *memory, int number,
                             double epsilon)
{
    const function_case *at = places[number].at;
    int fetch = places[number].fetch;
    compare(graph, memory, fetch++, &at->output, epsilon);
    for (int i = 0; i < at->input_count; i++)
        if (at->gradients[i].values != NULL)
            compare(graph, memory, fetch++, &at->gradients[i], epsilon);
}

START_TEST(values_and_gradients_are_those_of_pytorch)
{
    cse_graph *graph = cse_graph_new(1, 1);
    fixture_memory memory;
    cse_trace_begin(graph);
    for (int i = 0; i < FUNCTIONS; i++)
        add_function(graph, i, formats[_i].dtype);
    cse_trace_end();
    fixture_passes(graph, "");
    cse_executable *compiled = fixture_compile(graph);
    fixture_memory_init(&memory, graph);
    for (int i = 0; i < FUNCTIONS; i++) {
        const function_case *at = places[i].at;
        for (int k = 0; k < at->input_count; k++)
            set_input(graph, &memory, places[i].input + k, &at->inputs[k]);
        set_input(graph, &memory, places[i].upstream, &at->upstream);
    }
    fixture_run(compiled, &memory);
    for (int i = 0; i < FUNCTIONS; i++)
        compare_function(graph, &memory, i, formats[_i].epsilon);
    fixture_memory_clear(&memory);
    cse_executable_destroy(&compiled);
    cse_graph_destroy(&graph);
    fixture_remove_directories();
}
END_TEST

/* No value of PyTorch is left without its function. */
START_TEST(every_value_has_a_function)
{
    size_t values = sizeof attention_cases / sizeof *attention_cases +
                    sizeof losses_cases / sizeof *losses_cases +
                    sizeof shapes_cases / sizeof *shapes_cases +
                    sizeof moves_cases / sizeof *moves_cases;
    ck_assert_uint_eq(values, FUNCTIONS);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("function values");
    TCase *functions_case = tcase_create("functions");
    tcase_set_timeout(functions_case, 120);
    tcase_add_test(functions_case, every_value_has_a_function);
    tcase_add_loop_test(functions_case, values_and_gradients_are_those_of_pytorch, 0,
                        sizeof formats / sizeof *formats);
    suite_add_tcase(suite, functions_case);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

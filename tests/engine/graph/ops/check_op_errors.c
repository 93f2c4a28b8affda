/* Wrong calls: each is refused while tracing, with a message that names the op, the shapes at hand,
 * what is accepted, and the place of the call; and nothing after it crashes. */
#include <check.h>
#include <stdint.h>
#include <string.h>

#include "engine/graph/trace/trace.h"

enum { MICRO_BATCH = 4 };

typedef struct inputs {
    cse_tensor *a;      /* [4, 3] float32 */
    cse_tensor *b;      /* [5] float32 */
    cse_tensor *labels; /* [4] int32 */
    cse_tensor *image;  /* [4, 2, 6, 6] float32 */
    cse_tensor *mask;   /* [4, 3] bool */
} inputs;

typedef struct wrong_call {
    cse_tensor *(*call)(const inputs *);
    const char *says[4]; /* ended by NULL */
} wrong_call;

#define CALL(name, expression)                \
    static cse_tensor *name(const inputs *in) \
    {                                         \
        (void)in;                             \
        return expression;                    \
    }

CALL(add_shapes, cse_add(in->a, in->b))
CALL(add_types, cse_add(in->labels, cse_constant(1)))
CALL(add_null, cse_add(in->a, NULL))
CALL(exp_of_int, cse_exp(in->labels))
CALL(neg_of_bool, cse_neg(in->mask))
CALL(not_of_float, cse_logical_not(in->a))
CALL(where_of_float, cse_where(in->a, in->a, in->a))
CALL(where_types, cse_where(in->mask, in->a, cse_constant_int(1)))
CALL(where_shapes, cse_where(in->mask, in->a, in->b))
CALL(cast_to_nothing, cse_cast(in->a, (cse_dtype)99))
CALL(broadcast_smaller, cse_broadcast_to(in->a, cse_shape_of(3)))
CALL(broadcast_negative, cse_broadcast_to(cse_constant(1), cse_shape_of(-3)))
CALL(broadcast_huge, cse_broadcast_to(cse_constant(1), cse_shape_of(INT64_MAX, INT64_MAX)))
CALL(reshape_count, cse_reshape(in->a, cse_shape_of(5, 2)))
CALL(reshape_open, cse_reshape(in->a, cse_shape_of(5, -1)))
CALL(reshape_two_open, cse_reshape(in->a, cse_shape_of(-1, -1)))
CALL(flatten_axis, cse_flatten(in->a, 2))
CALL(sum_axis, cse_sum(in->a, cse_axes(2), false))
CALL(sum_twice, cse_sum(in->a, cse_axes(1, -1), false))
CALL(sum_of_bool, cse_sum_all(in->mask))
CALL(max_of_int, cse_max(in->labels, NULL, 0, false))
CALL(argmax_axis, cse_argmax(in->a, -3))
CALL(transpose_short, cse_transpose(in->a, cse_axes(0)))
CALL(transpose_twice, cse_transpose(in->a, cse_axes(1, 1)))
CALL(slice_empty, cse_slice_axis(in->a, 0, 2, 2))
CALL(slice_beyond, cse_slice_axis(in->a, 1, 0, 4))
CALL(slice_axis, cse_slice_axis(in->a, 2, 0, 1))
CALL(pad_negative, cse_pad(in->b, (int64_t[]){ -1 }, (int64_t[]){ 0 }, 0))
CALL(concat_sizes, cse_concat((cse_tensor *[]){ in->a, in->b }, 2, 0))
CALL(concat_axis, cse_concat((cse_tensor *[]){ in->a, in->a }, 2, 2))
CALL(concat_none, cse_concat(NULL, 0, 0))
CALL(gather_by_float, cse_gather(in->a, in->a))
CALL(embedding_of_rows, cse_embedding(in->b, in->labels))
CALL(embedding_by_float, cse_embedding(in->a, in->b))
CALL(causal_mask_of_row, cse_causal_mask(in->b, 0))
CALL(attention_rank, cse_scaled_dot_product_attention(in->a, in->a, in->a, NULL))
CALL(attention_heads, cse_scaled_dot_product_attention(in->image, in->image,
                                                       cse_full(cse_shape_of(4, 3, 6, 6), 1), NULL))
CALL(attention_dropout, cse_scaled_dot_product_attention(in->image, in->image, in->image,
                                                         &(cse_attention_options){ .dropout = 1 }))
CALL(scatter_rows, cse_scatter_add(in->b, in->labels, 3))
CALL(scatter_none, cse_scatter_add(in->a, in->labels, 0))
CALL(one_hot_none, cse_one_hot(in->labels, 0))
CALL(one_hot_of_float, cse_one_hot(in->a, 3))
CALL(matmul_inner, cse_matmul(in->a, in->a, false, false))
CALL(matmul_vector, cse_matmul(in->a, in->b, false, false))
CALL(matmul_batches, cse_matmul(in->image, cse_full(cse_shape_of(3, 2, 6, 6), 1), false, false))
CALL(linear_bias, cse_linear(in->a, cse_full(cse_shape_of(7, 3), 1), in->b))
CALL(conv_rank, cse_conv2d(in->a, in->image, NULL, NULL))
CALL(conv_channels, cse_conv2d(in->image, cse_full(cse_shape_of(8, 3, 3, 3), 1), NULL, NULL))
CALL(conv_too_large, cse_conv2d(in->image, cse_full(cse_shape_of(8, 2, 7, 7), 1), NULL, NULL))
CALL(conv_stride, cse_conv2d(in->image, cse_full(cse_shape_of(8, 2, 3, 3), 1), NULL,
                             &(cse_conv2d_options){ .stride = { -1, 1 } }))
CALL(conv_bias, cse_conv2d(in->image, cse_full(cse_shape_of(8, 2, 3, 3), 1), in->b, NULL))
CALL(pool_kernel, cse_max_pool2d(in->image, NULL))
CALL(pool_padding,
     cse_avg_pool2d(in->image, &(cse_pool2d_options){ .kernel = { 2, 2 }, .padding = { 2, 0 } }))
CALL(softmax_axis, cse_softmax(in->a, 2))
CALL(cross_entropy_labels, cse_cross_entropy(in->a, in->a))
CALL(cross_entropy_batch, cse_cross_entropy(in->image, in->labels))
CALL(layer_norm_weight, cse_layer_norm(in->a, in->b, NULL, 1e-5))
CALL(dropout_all, cse_dropout(in->a, 1, "layer"))
CALL(dropout_unnamed, cse_dropout(in->a, 0.5, NULL))
CALL(dropout_transposed, cse_dropout(cse_transpose(in->a, cse_axes(1, 0)), 0.5, "layer"))
CALL(bernoulli_likely, cse_bernoulli(cse_shape_of(3), "mask", 1.5))

static const wrong_call wrong_calls[] = {
    { add_shapes, { "add([4, 3] float32, [5] float32)", "do not broadcast" } },
    { add_types, { "add([4] int32, [4] float32)", "cast one of them first" } },
    { add_null, { "add: input 1 is NULL" } },
    { exp_of_int, { "exp([4] int32)", "must be floats, not int32" } },
    { neg_of_bool, { "neg([4, 3] bool)", "not bool" } },
    { not_of_float, { "logical_not([4, 3] float32)", "must be bool" } },
    { where_of_float, { "where([4, 3] float32", "condition must be bool" } },
    { where_types, { "where([4, 3] bool, [4, 3] float32, [4, 3] int32)", "one type" } },
    { where_shapes, { "where([4, 3] bool, [4, 3] float32, [5] float32)", "do not broadcast" } },
    { cast_to_nothing, { "cast([4, 3] float32)", "99 is no type" } },
    { broadcast_smaller, { "broadcast_to([4, 3] float32)", "does not broadcast to [3]" } },
    { broadcast_negative, { "broadcast_to([] float32)", "[-3] is no shape" } },
    { broadcast_huge, { "broadcast_to([] float32)", "at most 2^44" } },
    { reshape_count, { "reshape([4, 3] float32)", "12 elements do not fill [5, 2]" } },
    { reshape_open, { "reshape([4, 3] float32)", "do not fill [5, -1]; one size may be -1" } },
    { reshape_two_open, { "reshape([4, 3] float32)", "[-1, -1]" } },
    { flatten_axis, { "flatten", "axis 2 is outside rank 2" } },
    { sum_axis, { "sum of [4, 3]", "axis 2 is outside", "[-2, 1]" } },
    { sum_twice, { "sum of [4, 3]", "axis -1 is named twice" } },
    { sum_of_bool, { "sum([4, 3] bool)", "cast it first" } },
    { max_of_int, { "max([4] int32)", "must be floats" } },
    { argmax_axis, { "argmax([4, 3] float32)", "axis must be one of the input's" } },
    { transpose_short, { "transpose([4, 3] float32)", "each of the 2 axes" } },
    { transpose_twice, { "transpose([4, 3] float32)", "named once" } },
    { slice_empty, { "slice([4, 3] float32)", "[2, 2)", "axis 0, which has 4" } },
    { slice_beyond, { "slice([4, 3] float32)", "[0, 4)", "axis 1, which has 3" } },
    { slice_axis, { "slice", "axis 2 is outside rank 2" } },
    { pad_negative, { "pad([5] float32)", "axis 0 must be from 0" } },
    { concat_sizes, { "concat([4, 3] float32, [5] float32)", "input 1" } },
    { concat_axis, { "concat([4, 3] float32, [4, 3] float32)", "axis must be" } },
    { concat_none, { "concat()", "1 to 16 inputs, has 0" } },
    { gather_by_float, { "gather([4, 3] float32, [4, 3] float32)", "indices must be int32" } },
    { embedding_of_rows, { "embedding([5] float32, [4] int32)", "floats [n, channel]" } },
    { embedding_by_float, { "embedding([4, 3] float32, [5] float32)", "must be int32" } },
    { causal_mask_of_row, { "causal_mask([5] float32)", "[query, key]" } },
    { attention_rank, { "scaled_dot_product_attention([4, 3] float32", "[batch, heads, time" } },
    { attention_heads, { "[4, 3, 6, 6] float32)", "must agree in batch and heads" } },
    { attention_dropout, { "scaled_dot_product_attention: dropout 1 is outside [0, 1)" } },
    { scatter_rows, { "scatter_add([5] float32, [4] int32)", "[indices..., row...]" } },
    { scatter_none, { "scatter_add([4, 3] float32, [4] int32)", "at least one row" } },
    { one_hot_none, { "one_hot", "0 classes", "at least 1" } },
    { one_hot_of_float, { "one_hot([4, 3, 3] float32)", "labels must be int32" } },
    { matmul_inner, { "matmul([4, 3] float32, [4, 3] float32)", "3 (first input) and 4" } },
    { matmul_vector, { "matmul([4, 3] float32, [5] float32)", "at least two axes" } },
    { matmul_batches, { "matmul([4, 2, 6, 6] float32, [3, 2, 6, 6] float32)", "leading axes" } },
    { linear_bias, { "add([4, 7] float32, [5] float32)", "do not broadcast" } },
    { conv_rank, { "conv2d([4, 3] float32", "[batch, channel, height, width]" } },
    { conv_channels, { "conv2d([4, 2, 6, 6] float32, [8, 3, 3, 3]", "2 input channels" } },
    { conv_too_large, { "conv2d([4, 2, 6, 6] float32, [8, 2, 7, 7]", "does not fit" } },
    { conv_stride, { "conv2d([4, 2, 6, 6] float32", "stride and dilation must be at least 1" } },
    { conv_bias, { "conv2d", "bias must be [8]" } },
    { pool_kernel, { "max_pool2d([4, 2, 6, 6] float32)", "kernel must be at least 1" } },
    { pool_padding, { "avg_pool2d([4, 2, 6, 6] float32)", "padding at most half" } },
    { softmax_axis, { "softmax", "axis 2 is outside rank 2" } },
    { cross_entropy_labels, { "cross_entropy([4, 3] float32, [4, 3]", "int32 [4]" } },
    { cross_entropy_batch, { "cross_entropy([4, 2, 6, 6]", "int32 [4, 2, 6]" } },
    { layer_norm_weight, { "layer_norm([4, 3] float32, [5] float32", "[3]" } },
    { dropout_all, { "dropout: probability 1 is outside [0, 1)" } },
    { dropout_unnamed, { "dropout", "give the stream a name" } },
    { dropout_transposed, { "dropout of [3, 4]", "the 4 samples of a microbatch" } },
    { bernoulli_likely, { "bernoulli: probability 1.5 is outside [0, 1]" } },
};

START_TEST(a_wrong_call_is_refused_with_op_shapes_and_place)
{
    cse_graph *graph = cse_graph_new(1, MICRO_BATCH);
    cse_trace_begin(graph);
    const inputs in = {
        cse_graph_leaf(graph, &cse_op_input, NULL, cse_shape_of(MICRO_BATCH, 3), CSE_FLOAT32),
        cse_graph_leaf(graph, &cse_op_state, NULL, cse_shape_of(5), CSE_FLOAT32),
        cse_graph_leaf(graph, &cse_op_input, NULL, cse_shape_of(MICRO_BATCH), CSE_INT32),
        cse_graph_leaf(graph, &cse_op_input, NULL, cse_shape_of(MICRO_BATCH, 2, 6, 6), CSE_FLOAT32),
        cse_graph_leaf(graph, &cse_op_input, NULL, cse_shape_of(MICRO_BATCH, 3), CSE_BOOL),
    };
    const wrong_call *wrong = &wrong_calls[_i];
    cse_at("model.c", 12);
    cse_tensor *result = wrong->call(&in);
    ck_assert(cse_trace_is_poison(result));
    ck_assert_int_ne(cse_trace_status(graph), CSE_OK);
    const char *message = cse_error_message();
    ck_assert_msg(strncmp(message, "model.c:12: ", 12) == 0, "no place: %s", message);
    for (int i = 0; i < 4 && wrong->says[i] != NULL; i++)
        ck_assert_msg(strstr(message, wrong->says[i]) != NULL, "'%s' is not in: %s", wrong->says[i],
                      message);
    /* The first error stays, whatever follows. */
    ck_assert(cse_trace_is_poison(cse_relu(cse_linear(result, in.a, result))));
    ck_assert(cse_trace_is_poison(cse_cross_entropy(cse_softmax(result, 0), in.labels)));
    cse_trace_status(graph);
    ck_assert_msg(strstr(cse_error_message(), wrong->says[0]) != NULL, "the first error was lost");
    cse_trace_end();
    cse_graph_destroy(&graph);
}
END_TEST

/* Every public function takes what a failed one returned. */
START_TEST(poison_passes_through_every_function)
{
    cse_graph *graph = cse_graph_new(1, MICRO_BATCH);
    cse_trace_begin(graph);
    cse_tensor *p = cse_trace_fail(CSE_SHAPE, "a first error");
    const int64_t ones[CSE_MAX_RANK] = { 1, 1, 1, 1, 1, 1, 1, 1 };
    const cse_pool2d_options window = { .kernel = { 2, 2 } };
    cse_tensor *results[] = {
        cse_where(p, p, p),
        cse_cast(p, CSE_INT32),
        cse_gelu(p, true),
        cse_one_hot(p, 3),
        cse_broadcast_to(p, cse_shape_of(2)),
        cse_reshape(p, cse_shape_of(-1)),
        cse_flatten(p, 1),
        cse_sum(p, cse_axes(3), true),
        cse_mean(p, cse_axes(3), true),
        cse_mean_all(p),
        cse_max(p, cse_axes(3), true),
        cse_argmax(p, 4),
        cse_transpose(p, cse_axes(5, 6)),
        cse_slice(p, ones, ones, ones),
        cse_slice_axis(p, 3, 0, 1),
        cse_pad(p, ones, ones, 0),
        cse_concat(&p, 1, 3),
        cse_gather(p, p),
        cse_embedding(p, p),
        cse_causal_mask(p, 0),
        cse_scaled_dot_product_attention(p, p, p, &(cse_attention_options){ .dropout = 0.5 }),
        cse_scatter_add(p, p, 3),
        cse_matmul(p, p, true, false),
        cse_linear(p, p, p),
        cse_conv2d(p, p, p, NULL),
        cse_max_pool2d(p, &window),
        cse_avg_pool2d(p, &window),
        cse_softmax(p, 3),
        cse_log_softmax(p, 3),
        cse_cross_entropy(p, p),
        cse_nll(p, p),
        cse_layer_norm(p, NULL, NULL, 1e-5),
        cse_dropout(p, 0.5, "a"),
        cse_scale(p, 2),
        cse_shift(p, 2),
        cse_bernoulli_like(p, "a", 0.5),
        cse_random_normal_like(p, "a", 0, 1),
    };
    for (size_t i = 0; i < sizeof results / sizeof *results; i++)
        ck_assert_msg(cse_trace_is_poison(results[i]), "call %zu", i);
    cse_trace_status(graph);
    ck_assert_ptr_nonnull(strstr(cse_error_message(), "a first error"));
    cse_trace_end();
    cse_graph_destroy(&graph);
}
END_TEST

START_TEST(outside_a_step_nothing_is_traced)
{
    ck_assert_ptr_null(cse_constant(1));
    ck_assert_ptr_null(cse_sample_index());
    ck_assert_ptr_null(cse_relu(NULL));
    ck_assert_ptr_null(cse_dropout(NULL, 0.5, "a"));
    ck_assert_ptr_nonnull(strstr(cse_error_message(), "outside a step"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("op errors");
    TCase *errors = tcase_create("errors");
    tcase_add_loop_test(errors, a_wrong_call_is_refused_with_op_shapes_and_place, 0,
                        (int)(sizeof wrong_calls / sizeof *wrong_calls));
    tcase_add_test(errors, poison_passes_through_every_function);
    tcase_add_test(errors, outside_a_step_nothing_is_traced);
    suite_add_tcase(suite, errors);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}

/* What functions of several ops refuse, and what they say. */
#include <check.h>
#include <math.h>
#include <string.h>

#include "engine/graph/trace/trace.h"

static cse_tensor *input(int64_t a, int64_t b, int64_t c, int64_t d)
{
    cse_shape shape = { .rank = d ? 4 : c ? 3 : b ? 2 : 1, .dims = { a, b, c, d } };
    return cse_graph_leaf(cse_trace_graph(), &cse_op_input, NULL, shape, CSE_FLOAT32);
}

static cse_tensor *labels(int64_t count)
{
    return cse_cast(input(count, 0, 0, 0), CSE_INT32);
}

static cse_tensor *attend(cse_attention_options how)
{
    cse_tensor *x = input(2, 4, 3, 8);
    return cse_scaled_dot_product_attention(x, x, x, &how);
}

static cse_tensor *three_heads(void)
{
    cse_tensor *k = input(2, 3, 3, 8);
    return cse_scaled_dot_product_attention(input(2, 4, 3, 8), k, k, NULL);
}

static cse_tensor *weigh(cse_cross_entropy_options how)
{
    return cse_cross_entropy_with(input(4, 5, 0, 0), labels(4), &how);
}

static cse_tensor *sums(void)
{
    cse_tensor *made[2];
    cse_cross_entropy_sums(input(4, 5, 0, 0), labels(4),
                           &(cse_cross_entropy_options){ .label_smoothing = 2 }, made);
    return made[1];
}

static cse_tensor *split(void)
{
    cse_tensor *parts[2];
    cse_split(input(4, 5, 0, 0), 1, (const int64_t[]){ 2, 2 }, 2, parts);
    return parts[0];
}

static cse_tensor *einsum(const char *notation, int count)
{
    return cse_einsum(notation, (cse_tensor *[]){ input(2, 3, 0, 0), input(3, 4, 0, 0) }, count);
}

#define ATTENTION(...) attend((cse_attention_options){ __VA_ARGS__ })
#define CALLS(X)                                                                                \
    X(ATTENTION(.dropout = 1), "outside [0, 1)")                                                \
    X(ATTENTION(.scale = -1), "must not be negative")                                           \
    X(ATTENTION(.mask = input(2, 1, 1, 4)), "broadcast to [batch, heads, query, key]")          \
    X(ATTENTION(.mask = labels(3)), "must be bool or floats")                                   \
    X(ATTENTION(.key_lengths = labels(3)), "must be int32 [2]")                                 \
    X(three_heads(), "divide q's")                                                              \
    X(weigh((cse_cross_entropy_options){ .label_smoothing = -1 }), "outside [0, 1]")            \
    X(weigh((cse_cross_entropy_options){ .class_weights = input(4, 0, 0, 0) }), "must be [5]")  \
    X(sums(), "outside [0, 1]")                                                                 \
    X(cse_nll_loss(input(4, 5, 0, 0), labels(4),                                                \
                   &(cse_cross_entropy_options){ .label_smoothing = 0.5 }),                     \
      "belongs to cross_entropy")                                                               \
    X(cse_smooth_l1_loss(labels(3), labels(3), -1, CSE_REDUCTION_SUM), "0 or more")             \
    X(cse_huber_loss(labels(3), labels(3), 0, CSE_REDUCTION_SUM), "above 0")                    \
    X(cse_clamp(input(3, 0, 0, 0), 1, 0), "is no interval")                                     \
    X(cse_batch_norm(input(3, 0, 0, 0), NULL, NULL, 0), "[batch, channel, ...]")                \
    X(cse_batch_norm(input(3, 4, 0, 0), input(3, 0, 0, 0), NULL, 0), "one for each channel")    \
    X(cse_group_norm(input(2, 6, 3, 0), 4, NULL, NULL, 0), "a divisor of the channels")         \
    X(cse_var(input(1, 3, 0, 0), cse_axes(0), 1, false), "accepted: fewer")                     \
    X(cse_glu(input(2, 3, 0, 0), 1), "which is odd")                                            \
    X(split(), "add up to 4")                                                                   \
    X(cse_stack((cse_tensor *[]){ input(2, 0, 0, 0) }, 1, 3), "outside rank 2")                 \
    X(cse_repeat_interleave(input(2, 0, 0, 0), 0, 0), "at least once")                          \
    X(cse_tril(input(2, 0, 0, 0), 0), "two axes or more")                                       \
    X(cse_scatter_along(input(2, 3, 0, 0), cse_cast(input(2, 2, 0, 0), CSE_INT32),              \
                        input(2, 3, 0, 0), 1),                                                  \
      "of the indices' shape")                                                                  \
    X(cse_conv1d(input(2, 3, 0, 0), input(2, 3, 3, 0), NULL, NULL), "three axes")               \
    X(cse_conv_transpose2d(input(1, 2, 3, 3), input(2, 2, 3, 3), NULL,                          \
                           &(cse_conv_transpose2d_options){ .output_padding = { 1, 0 } }),      \
      "below the stride or the dilation")                                                       \
    X(cse_interpolate(input(1, 2, 3, 3), &(cse_interpolate_options){ .size = { 0, 2 } }),       \
      "at least 1")                                                                             \
    X(cse_adaptive_avg_pool2d(input(1, 2, 3, 0), 1, 1), "[batch, channel, height, width]")      \
    X(cse_pixel_shuffle(input(1, 3, 2, 2), 2), "divisible by the factor's square")              \
    X(cse_pixel_unshuffle(input(1, 3, 3, 2), 2), "divisible by the factor")                     \
    X(cse_rotary_embedding(input(1, 2, 3, 5), NULL), "the size even")                           \
    X(cse_rotary_embedding(input(1, 2, 3, 4), &(cse_rotary_options){ .positions = labels(4) }), \
      "positions int32 [time]")                                                                 \
    X(einsum("ij,jk", 2), "as in")                                                              \
    X(einsum("ii,ij->j", 2), "each letter once")                                                \
    X(einsum("ij,jk->il", 2), "as in")                                                          \
    X(einsum("ijk,k->i", 2), "operand 0 has rank 2")                                            \
    X(einsum("ij,ik->k", 2), "the sizes of i differ")                                           \
    X(einsum("ij->i", 2), "with 2 tensors")                                                     \
    X(cse_alibi_bias(0, 2, 2), "1 to 2^20")                                                     \
    X(cse_relative_bias(input(8, 2, 0, 0), 2, 2, &(cse_relative_bias_options){ false, 4 }),     \
      "fewer than max_distance")

static cse_tensor *call(int number)
{
    int at = 0;
#define CALL(expression, text) \
    if (at++ == number)        \
        return expression;
    CALLS(CALL)
    return NULL;
}

static const char *const messages[] = {
#define MESSAGE(expression, text) text,
    CALLS(MESSAGE)
};

START_TEST(wrong_arguments_are_told)
{
    cse_graph *graph = cse_graph_new(1, 1);
    cse_trace_begin(graph);
    cse_tensor *made = call(_i);
    ck_assert_msg(cse_trace_is_poison(made) && cse_trace_status(graph) != CSE_OK, "no error: %s",
                  messages[_i]);
    ck_assert_msg(strstr(cse_error_message(), messages[_i]) != NULL, "%s", cse_error_message());
    cse_trace_end();
    cse_graph_destroy(&graph);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("function errors");
    TCase *errors = tcase_create("errors");
    tcase_add_loop_test(errors, wrong_arguments_are_told, 0, sizeof messages / sizeof *messages);
    suite_add_tcase(suite, errors);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}

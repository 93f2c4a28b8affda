/* What a forward pass has no counterpart for in ONNX is refused, with the op and the place of the
 * call; and so is what depends on the number of samples in another way than by a size. What is
 * written is computed by tests/cli/check_onnx.sh. */
#include <check.h>
#include <string.h>

#include "csengine/input.h"
#include "engine/formats/onnx/onnx.h"
#include "engine/graph/trace/trace.h"

enum { TRACES = 2 };

typedef cse_tensor *model(cse_tensor *x);

static cse_tensor *input_of(cse_graph *graph)
{
    const int64_t samples = graph->micro_batch_size;
    const cse_attributes attributes = { .integer_count = 1 };
    cse_node *node =
        cse_graph_leaf(graph, &cse_op_input, &attributes, cse_shape_of(samples, 6), CSE_FLOAT32);
    CSE_GROW(graph->inputs, graph->input_count, graph->input_capacity);
    graph->inputs[graph->input_count++] =
        (cse_input_entry){ .name = "x", .shape = node->shape, .dtype = CSE_FLOAT32, .node = node };
    return node;
}

static cse_status describe(model *call, cse_forward_pass *pass)
{
    static const int64_t samples[TRACES] = { 2, 3 };
    cse_onnx_trace traces[TRACES];
    cse_graph *graphs[TRACES];
    cse_arena *arena = cse_arena_new();
    for (int i = 0; i < TRACES; i++) {
        graphs[i] = cse_graph_new(1, samples[i]);
        cse_trace_begin(graphs[i]);
        traces[i] = (cse_onnx_trace){ graphs[i], call(input_of(graphs[i])) };
        cse_trace_end();
        ck_assert_msg(cse_trace_status(graphs[i]) == CSE_OK, "%s", graphs[i]->error_message);
    }
    cse_status status = cse_onnx_describe(arena, traces, "y", pass);
    for (int i = 0; i < TRACES; i++)
        cse_graph_destroy(&graphs[i]);
    cse_arena_destroy(&arena);
    return status;
}

static void is_refused(model *call, const char *op, const char *why)
{
    cse_forward_pass pass;
    ck_assert_int_eq(describe(call, &pass), CSE_SHAPE);
    ck_assert_msg(strstr(cse_error_message(), op) != NULL, "%s", cse_error_message());
    ck_assert_msg(strstr(cse_error_message(), why) != NULL, "%s", cse_error_message());
    cse_text_clear(&pass.graph);
}

static cse_tensor *accepted(cse_tensor *x)
{
    return cse_softmax(cse_scale(cse_tanh(x), 2), -1);
}

static cse_tensor *without_counterpart(cse_tensor *x)
{
    return cse_atan2(x, cse_exp(x));
}

static cse_tensor *with_random_numbers(cse_tensor *x)
{
    return cse_dropout(x, 0.5, "test");
}

static cse_tensor *mean_of_samples(cse_tensor *x)
{
    return cse_sub(x, cse_mean(x, cse_axes(0), true));
}

static cse_tensor *last_sample(cse_tensor *x)
{
    const int64_t samples = cse_tensor_shape(x).dims[0];
    return cse_slice_axis(x, 0, samples - 2, samples - 1);
}

static cse_tensor *one_row_more(cse_tensor *x)
{
    return cse_concat((cse_tensor *[]){ x, cse_slice_axis(x, 0, 0, 1) }, 2, 0);
}

START_TEST(what_has_no_counterpart_is_refused)
{
    cse_forward_pass pass;
    ck_assert_msg(describe(accepted, &pass) == CSE_OK, "%s", cse_error_message());
    ck_assert_uint_gt(pass.graph.size, 100);
    ck_assert_ptr_nonnull(memmem(pass.graph.data, pass.graph.size, "Softmax", 7));
    cse_text_clear(&pass.graph);
    is_refused(without_counterpart, "atan2 [2, 6]", "no counterpart");
    is_refused(with_random_numbers, "", "no counterpart");
}
END_TEST

START_TEST(what_depends_on_the_number_of_samples_is_refused)
{
    is_refused(mean_of_samples, "constant", "depends on the number of samples");
    is_refused(last_sample, "slice", "depends on the number of samples");
    is_refused(one_row_more, "concat", "no multiple of the number of samples");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ONNX");
    TCase *test = tcase_create("ONNX");
    tcase_add_test(test, what_has_no_counterpart_is_refused);
    tcase_add_test(test, what_depends_on_the_number_of_samples_is_refused);
    suite_add_tcase(suite, test);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed > 0;
}

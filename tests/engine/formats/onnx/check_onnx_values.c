/* What each op becomes in ONNX computes what the op's reference kernel does: every sample of every
 * op that has a counterpart is written with its inputs and its value, and computed by a reader that
 * is not ours (tests/cli/onnx_model.py). Skipped without python3. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "csengine/op.h"
#include "engine/base/protobuf.h"
#include "engine/base/types/shape.h"
#include "engine/formats/onnx/onnx.h"
#include "engine/graph/trace/trace.h"
#include "tests/engine/formats/checkpoint/fixture.h"
#include "tests/samples/samples.h"

enum { TRACES = 2, MOST_INPUTS = 6, LEAST_WRITTEN = 140 };

static char directory[PATH_MAX];

/* Where ONNX leaves the value open: an index outside of its table, a division by 0. */
static const struct {
    const char *op, *sample;
} left_open[] = { { "gather", "outside of the table" },
                  { "remainder", "both signs" },
                  { "take_along", "int32, some outside" } };

/* Of ops that have a counterpart, what it cannot do. */
static const struct {
    const char *op, *sample;
} refused[] = { { "pad", "between" }, { "scaled_dot_product_attention", "dropout" } };

static bool has_types(const cse_op_sample *sample)
{
    bool good = true;
    for (int i = 0; i < sample->input_count; i++)
        good =
            good && (sample->inputs[i].dtype == CSE_FLOAT32 ||
                     sample->inputs[i].dtype == CSE_INT32 || sample->inputs[i].dtype == CSE_BOOL);
    return good;
}

static void write_file(const char *name, const char *ending, const void *bytes, size_t size)
{
    char path[PATH_MAX + 128];
    snprintf(path, sizeof path, "%s/%s.%s", directory, name, ending);
    FILE *file = fopen(path, "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(bytes, 1, size, file), size);
    fclose(file);
}

static cse_node *add_input(cse_graph *graph, const cse_op_sample *sample, int i)
{
    static const char *const names[] = { "0", "1", "2", "3", "4", "5" };
    const cse_attributes attributes = { .integer_count = 1, .integers = { i } };
    const cse_sample_input *input = &sample->inputs[i];
    cse_node *node = cse_graph_leaf(graph, &cse_op_input, &attributes, input->shape, input->dtype);
    CSE_GROW(graph->inputs, graph->input_count, graph->input_capacity);
    graph->inputs[graph->input_count++] = (cse_input_entry){
        .name = names[i], .shape = input->shape, .dtype = input->dtype, .node = node
    };
    return node;
}

static cse_onnx_trace trace(const cse_op *op, const cse_op_sample *sample, int64_t samples)
{
    cse_node *inputs[MOST_INPUTS], *node = NULL;
    cse_graph *graph = cse_graph_new(1, samples);
    cse_trace_begin(graph);
    for (int i = 0; i < sample->input_count; i++)
        inputs[i] = add_input(graph, sample, i);
    const cse_operands operands = { sample->input_count, inputs };
    ck_assert_int_eq(cse_graph_add(graph, op, &sample->attributes, operands, &node), CSE_OK);
    cse_trace_end();
    return (cse_onnx_trace){ graph, node };
}

/* Drawn from [low, high], which is [-1, 1] or 0 and 1 where a sample says nothing. */
static void *draw(const cse_sample_input *input, uint32_t stream)
{
    const int64_t count = cse_shape_elements(input->shape);
    const bool is_float = input->dtype == CSE_FLOAT32, open = input->low == 0 && input->high == 0;
    const double low = open ? (is_float ? -1 : 0) : input->low;
    const double high = open ? (is_float ? 1 : 2) : input->high;
    unsigned char *values = calloc((size_t)count + 1, 4);
    for (int64_t i = 0; i < count; i++) {
        const uint32_t bits = (uint32_t)(((uint64_t)i * 2654435761u + stream * 40503u) >> 3);
        const double part = (double)(bits % 65521) / 65521, value = low + part * (high - low);
        const int64_t whole = (int64_t)low + (int64_t)(part * (high - low));
        cse_write_element(input->dtype, values, i, is_float ? value : (double)whole);
    }
    return values;
}

static size_t bytes_of(cse_shape shape, cse_dtype dtype)
{
    return (size_t)cse_shape_elements(shape) * cse_dtype_size(dtype);
}

static void write_values(const char *name, const cse_op_sample *sample, const cse_tensor *node)
{
    const void *inputs[MOST_INPUTS];
    char ending[16];
    for (int i = 0; i < sample->input_count; i++) {
        inputs[i] = draw(&sample->inputs[i], (uint32_t)i + 1);
        snprintf(ending, sizeof ending, "in%d", i);
        write_file(name, ending, inputs[i],
                   bytes_of(sample->inputs[i].shape, sample->inputs[i].dtype));
    }
    const size_t bytes = bytes_of(node->shape, node->dtype);
    void *output = calloc(bytes + 8, 1);
    if (node->op->kind == CSE_OP_RESHAPE)
        memcpy(output, inputs[0], bytes);
    else
        node->op->reference(
            &(cse_reference){ .node = node, .inputs = inputs, .output = output, .seed = 1 });
    write_file(name, "out", output, bytes);
    free(output);
    for (int i = 0; i < sample->input_count; i++)
        free((void *)(uintptr_t)inputs[i]);
}

static void write_model(const char *name, cse_forward_pass *pass)
{
    cse_text model = { 0 }, operators = { 0 };
    cse_protobuf_add_integer(&model, 1, CSE_ONNX_IR_VERSION);
    cse_protobuf_add_text(&operators, 1, "");
    cse_protobuf_add_integer(&operators, 2, CSE_ONNX_OPSET);
    cse_protobuf_take(&model, 8, &operators);
    cse_protobuf_take(&model, 7, &pass->graph);
    write_file(name, "onnx", model.data, model.size);
    cse_text_clear(&model);
}

static bool is_left_open(const cse_op *op, const cse_op_sample *sample)
{
    bool found = false;
    for (size_t i = 0; i < sizeof left_open / sizeof left_open[0]; i++)
        found = found || (strcmp(left_open[i].op, op->name) == 0 &&
                          strcmp(left_open[i].sample, sample->name) == 0);
    return found;
}

static void must_be_known(const cse_op *op, const cse_op_sample *sample)
{
    bool known = strstr(cse_error_message(), "no counterpart of this op") != NULL;
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
        known = known || (strcmp(refused[i].op, op->name) == 0 &&
                          strstr(sample->name, refused[i].sample) != NULL);
    ck_assert_msg(known, "%s, %s: %s", op->name, sample->name, cse_error_message());
}

/* Whether it was written. */
static bool write_sample(const cse_op *op, int number)
{
    char name[128];
    cse_forward_pass pass;
    const cse_op_sample *sample = &cse_samples_of(op)[number];
    if (!has_types(sample) || is_left_open(op, sample))
        return false;
    cse_arena *arena = cse_arena_new();
    /* No size is a multiple of these: all are fixed. */
    cse_onnx_trace traces[TRACES] = { trace(op, sample, 10007), trace(op, sample, 10009) };
    const cse_status status = cse_onnx_describe(arena, traces, "y", &pass);
    snprintf(name, sizeof name, "%s_%d", op->name, number);
    if (status != CSE_OK) {
        must_be_known(op, sample);
        cse_text_clear(&pass.graph);
    } else {
        write_model(name, &pass);
        write_values(name, sample, traces[0].output);
    }
    for (int i = 0; i < TRACES; i++) {
        cse_graph *graph = (cse_graph *)(uintptr_t)traces[i].graph;
        cse_graph_destroy(&graph);
    }
    cse_arena_destroy(&arena);
    return status == CSE_OK;
}

/* The exit code of python3 with two arguments; 127: there is none. */
static int run_python(const char *first, const char *second)
{
    int status = 0;
    const char *python = getenv("PYTHON");
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        execlp(python != NULL ? python : "python3", "python3", first, second, (char *)NULL);
        _exit(127);
    }
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

START_TEST(every_counterpart_computes_the_same)
{
    char reader[PATH_MAX];
    const char *tree = getenv("top_srcdir");
    int written = 0;
    ck_assert_ptr_nonnull(make_directory(directory));
    for (const cse_op *const *row = cse_ops; *row != NULL; row++)
        for (int k = 0; cse_samples_of(*row)[k].name != NULL; k++)
            written += write_sample(*row, k);
    ck_assert_int_ge(written, LEAST_WRITTEN);
    snprintf(reader, sizeof reader, "%s/tests/cli/onnx_model.py", tree != NULL ? tree : ".");
    ck_assert_int_eq(run_python(reader, directory), 0);
    remove_directory(directory);
}
END_TEST

int main(void)
{
    if (run_python("-c", "") == 127) {
        puts("there is no python3: skipped");
        return 77;
    }
    Suite *suite = suite_create("ONNX");
    TCase *test = tcase_create("values");
    tcase_set_timeout(test, 120);
    tcase_add_test(test, every_counterpart_computes_the_same);
    suite_add_tcase(suite, test);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed > 0;
}

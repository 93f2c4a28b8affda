/* Programs that collect tensor statistics, compiled and interpreted: a small network with integer
 * values, so that the expected counts can be computed by hand, and an overflow injected in one
 * layer and one microbatch. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "csengine/csengine.h"
#include "engine/base/types/dtype.h"
#include "engine/code/codegen/codegen.h"
#include "engine/code/execute/tensor_statistics.h"
#include "tests/support/open_loader.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/traced_run.h"

enum { FEATURES = 8, HIDDEN = 6, MICRO = 4, BATCHES = 3, ROWS = MICRO * BATCHES };
#define FACTOR 1000.0f

static double features[ROWS][FEATURES];
static float first_weight[HIDDEN][FEATURES], second_weight[1][HIDDEN];
static table_file file;
static char directory[] = "/tmp/check_statistics_XXXXXX";

/* ---- the network ---- */

typedef struct planted {
    cse_linear_layer first, second;
} planted;

static cse_status build(cse_model *model, const cse_settings *s)
{
    planted *self = cse_model_self(model);
    (void)s;
    self->first = cse_linear_parameters(model, "first", FEATURES, HIDDEN, true);
    self->second = cse_linear_parameters(model, "second", HIDDEN, 1, false);
    return CSE_OK;
}

static cse_tensor *forward(cse_model *model, cse_tensor *input)
{
    const planted *self = cse_model_self(model);
    return cse_apply_linear(self->first, input);
}

static cse_tensor *loss(cse_model *model, cse_step *step, cse_tensor **predictions)
{
    const planted *self = cse_model_self(model);
    (void)predictions;
    cse_scope_enter(step, "model.first");
    cse_tensor *hidden = cse_relu(forward(model, cse_step_input(step, "images")));
    cse_tensor *scaled = cse_scale(hidden, (double)FACTOR);
    cse_scope_leave(step, "model.first");
    cse_scope_enter(step, "model.second");
    cse_tensor *output = cse_apply_linear(self->second, scaled);
    cse_scope_leave(step, "model.second");
    return cse_mean_all(output);
}

static const cse_setting no_settings[] = { { 0 } };
static const cse_model_descriptor descriptor = { .name = "planted",
                                                 .summary = "two layers and a factor between",
                                                 .settings = no_settings,
                                                 .abi = CSE_MODEL_ABI,
                                                 .self_bytes = sizeof(planted),
                                                 .build = build,
                                                 .forward = forward,
                                                 .loss = loss };

static cse_model *model;
static cse_optimizer *optimizer;

static cse_tensor *training(cse_step *step, void *self)
{
    cse_tensor *value = cse_model_loss(model, step, NULL);
    (void)self;
    cse_optimizer_step(step, value, optimizer, NULL, NULL);
    return value;
}

/* ---- one step that takes statistics ---- */

typedef struct statistics_run {
    traced_run traced;
    cse_tensor_statistics *records;
} statistics_run;

static void fill_data(void)
{
    for (int r = 0; r < ROWS; r++)
        for (int c = 0; c < FEATURES; c++)
            features[r][c] = (r * 5 + c * 3) % 7 - 3;
    /* In microbatch 1: the row's hidden values are in the hundreds. */
    for (int c = 0; c < FEATURES; c++)
        features[MICRO + 2][c] = 20;
    features[0][0] = 1e-9; /* lost in float16 */
    features[1][1] = 0x1p-20;
    for (int h = 0; h < HIDDEN; h++) {
        second_weight[0][h] = (float)(h - 2);
        for (int c = 0; c < FEATURES; c++)
            first_weight[h][c] = (float)((h + c) % 3 - (h == 5));
    }
}

static void configure(const char *numerics, const char *precision)
{
    ck_assert_int_eq(
        cse_configure(&(cse_configuration){
            .model_dir = "/nowhere", .seed = 1, .precision = precision, .numerics = numerics }),
        CSE_OK);
    model = cse_compile(cse_model_define(&descriptor, "{}"));
    optimizer = cse_configure_optimizer("SGD", model, "{lr: 1.0e-9}");
    ck_assert_msg(cse_session_status() == CSE_OK, "%s", cse_error_message());
}

static void run_step(statistics_run *r, bool compiled)
{
    const table_content content = { .features = &features[0][0],
                                    .rows = ROWS,
                                    .columns = FEATURES,
                                    .batch_size = ROWS,
                                    .micro_batch_size = MICRO };
    fill_data();
    table_file_write(&file, &content);
    if (compiled)
        traced_run_open_compiled(&r->traced, file.yaml, training, NULL, directory);
    else
        traced_run_open(&r->traced, file.yaml, training, NULL);
    memcpy(traced_floats(&r->traced, "model.first.weight"), first_weight, sizeof first_weight);
    memcpy(traced_floats(&r->traced, "model.second.weight"), second_weight, sizeof second_weight);
    memset(traced_floats(&r->traced, "model.first.bias"), 0, HIDDEN * sizeof(float));
    const cse_graph *graph = r->traced.step->graph;
    r->records = cse_calloc((size_t)graph->tracked_count + 1, sizeof *r->records);
    unsigned char *scratch = cse_aligned_calloc((size_t)graph->statistics_scratch_bytes + 64);
    cse_statistics_collector collector;
    cse_statistics_collector_init(&collector, r->traced.executable->graph, r->records, scratch);
    r->traced.run.collector = &collector;
    traced_run_step(&r->traced);
    free(scratch);
}

static void close_run(statistics_run *r)
{
    free(r->records);
    traced_run_close(&r->traced);
    cse_finish();
    table_file_remove(&file);
}

static const cse_tensor_statistics *record_of(const statistics_run *r, const char *name)
{
    const cse_graph *graph = r->traced.step->graph;
    for (int i = 0; i < graph->tracked_count; i++)
        if (strcmp(graph->tracked[i].name, name) == 0)
            return &r->records[i];
    for (int i = 0; i < graph->tracked_count; i++)
        printf("there is: %s (%s)\n", graph->tracked[i].name, graph->tracked[i].op);
    ck_abort_msg("no tensor is called %s", name);
}

/* ---- by hand ---- */

static float half(float x)
{
    return cse_float_from_format(CSE_FLOAT16, cse_round_to_bits(CSE_FLOAT16, x));
}

static void count_half(cse_tensor_statistics *plain, float x)
{
    int exponent = 0;
    frexpf(x, &exponent);
    plain->count++;
    plain->infinite += isinf(half(x)) != 0;
    plain->saturated += isinf(half(x)) && isfinite(x);
    plain->flushed += x != 0 && half(x) == 0;
    plain->zeros += x == 0;
    plain->exponents[x == 0 ? 0 : exponent + 126]++;
}

static void expect(const cse_tensor_statistics *got, const cse_tensor_statistics *plain)
{
    ck_assert_uint_eq(got->count, plain->count);
    ck_assert_uint_eq(got->nan, plain->nan);
    ck_assert_uint_eq(got->infinite, plain->infinite);
    ck_assert_uint_eq(got->saturated, plain->saturated);
    ck_assert_uint_eq(got->flushed, plain->flushed);
    ck_assert_uint_eq(got->zeros, plain->zeros);
    ck_assert_int_eq(got->first_microbatch, plain->first_microbatch);
    ck_assert(memcmp(got->exponents, plain->exponents, sizeof plain->exponents) == 0);
}

static const char half_products[] = "{fp16_type: float16, graphamp: {preset: mp1}}";

/* _i: compiled or interpreted. */
START_TEST(casts_are_counted_as_by_hand)
{
    statistics_run run;
    cse_tensor_statistics input = { .count = 0 }, weight = input, scaled = input;
    configure("{every: 1}", half_products);
    run_step(&run, _i == 0);
    for (int r = 0; r < ROWS; r++)
        for (int c = 0; c < FEATURES; c++)
            count_half(&input, (float)features[r][c]);
    for (int h = 0; h < HIDDEN; h++)
        for (int c = 0; c < FEATURES; c++)
            count_half(&weight, first_weight[h][c]);
    for (int r = 0; r < ROWS; r++)
        for (int h = 0; h < HIDDEN; h++) {
            float sum = 0;
            for (int c = 0; c < FEATURES; c++)
                sum += half((float)features[r][c]) * first_weight[h][c];
            count_half(&scaled, (sum > 0 ? sum : 0) * FACTOR);
        }
    ck_assert_uint_gt(scaled.saturated, 0);
    ck_assert_uint_eq(input.flushed, 1);
    scaled.first_microbatch = 1 + 1;
    expect(record_of(&run, "images.cast"), &input);
    expect(record_of(&run, "model.first.weight.cast"), &weight);
    expect(record_of(&run, "model.first.mul.cast"), &scaled);
    close_run(&run);
}
END_TEST

/* What one way of running counts, the other counts, too: the digests as well. */
START_TEST(both_ways_of_running_count_alike)
{
    statistics_run compiled, interpreted;
    configure("{every: 1, tensors: ['*']}", half_products);
    run_step(&compiled, true);
    const int count = compiled.traced.step->graph->tracked_count;
    cse_tensor_statistics *records = compiled.records;
    compiled.records = NULL;
    close_run(&compiled);
    configure("{every: 1, tensors: ['*']}", half_products);
    run_step(&interpreted, false);
    ck_assert_int_eq(interpreted.traced.step->graph->tracked_count, count);
    for (int i = 0; i < count; i++)
        ck_assert_msg(memcmp(&records[i], &interpreted.records[i], sizeof records[i]) == 0, "%s",
                      interpreted.traced.step->graph->tracked[i].name);
    free(records);
    close_run(&interpreted);
}
END_TEST

static int place_of(const cse_graph *graph, const char *name)
{
    for (int i = 0; i < graph->tracked_count; i++)
        if (strcmp(graph->tracked[i].name, name) == 0)
            return i;
    ck_abort_msg("no tensor is called %s", name);
}

START_TEST(tensors_stand_in_the_order_of_execution)
{
    statistics_run run;
    configure("{every: 3, tensors: [model.first]}", half_products);
    run_step(&run, false);
    const cse_graph *graph = run.traced.step->graph;
    int state = place_of(graph, "model.first.weight"), cast = place_of(graph, "images.cast");
    int product = place_of(graph, "model.first.relu"),
        scaled = place_of(graph, "model.first.mul.cast");
    int gradient = place_of(graph, "model.first.weight.gradient");
    ck_assert(state < cast && cast < product && product < scaled && product < gradient);
    ck_assert_int_eq(graph->tracked[state].kind, CSE_TRACKED_STATE);
    ck_assert_int_eq(graph->tracked[cast].kind, CSE_TRACKED_CAST);
    ck_assert_int_eq(graph->tracked[cast].source, CSE_FLOAT32);
    ck_assert_int_eq(graph->tracked[product].kind, CSE_TRACKED_VALUE);
    ck_assert_int_eq(graph->tracked[gradient].kind, CSE_TRACKED_GRADIENT);
    ck_assert_str_eq(graph->tracked[gradient].op, "matmul");
    ck_assert_ptr_nonnull(graph->tracked[state].delta);
    /* The plan computes this gradient before the product that follows: it reads no value of it. */
    ck_assert_int_lt(gradient, scaled);
    for (int i = 1; i < graph->tracked_count; i++) {
        const cse_node *before = graph->tracked[i - 1].node, *after = graph->tracked[i].node;
        if (before->part == after->part && before->part != CSE_PART_UPDATE)
            ck_assert_msg(before->group <= after->group, "%s stands before %s",
                          graph->tracked[i - 1].name, graph->tracked[i].name);
        ck_assert_int_eq(after->tracked, i + 1);
    }
    close_run(&run);
}
END_TEST

START_TEST(what_an_update_keeps_and_drops_is_proposed)
{
    statistics_run run;
    configure("{every: 1}", NULL);
    run_step(&run, _i == 0);
    const cse_graph *graph = run.traced.executable->graph;
    const cse_node *assign = graph->tracked[place_of(graph, "model.first.weight")].node;
    float values[CSE_MAX_PROPOSED][CSE_LINE_ELEMENTS], *pointers[CSE_MAX_PROPOSED];
    float before[HIDDEN * FEATURES];
    memcpy(before, traced_floats(&run.traced, "model.first.weight"), sizeof before);
    for (int i = 0; i < CSE_MAX_PROPOSED; i++)
        pointers[i] = values[i];
    const int64_t lines[2] = { 0, 1 };
    cse_frame frame = straight_run_frame(&run.traced.run);
    run.traced.executable->propose(run.traced.executable, &frame, assign->group, lines, pointers);
    for (int i = 0; i < HIDDEN * FEATURES; i++) {
        ck_assert_float_eq(values[0][i], before[i] - values[2][i]);
        ck_assert_float_eq(values[1][i], values[0][i]);
    }
    ck_assert(memcmp(before, traced_floats(&run.traced, "model.first.weight"), sizeof before) == 0);
    close_run(&run);
}
END_TEST

START_TEST(wrong_settings_are_told_with_their_place)
{
    configure("{every: 5, tensors: [model.thrid.*]}", half_products);
    const table_content content = { .features = &features[0][0],
                                    .rows = ROWS,
                                    .columns = FEATURES,
                                    .batch_size = ROWS,
                                    .micro_batch_size = MICRO };
    cse_dataloader *loader = NULL;
    cse_step *step = NULL;
    table_file_write(&file, &content);
    ck_assert_int_eq(open_loader(file.yaml, 1, &loader), CSE_OK);
    ck_assert_int_eq(cse_step_trace(cse_session_open_view("test"), loader, training, NULL, &step),
                     CSE_OK);
    ck_assert_int_eq(cse_passes_run(step->graph, NULL), CSE_CONFIG);
    ck_assert_ptr_nonnull(strstr(cse_error_message(), "1:22: the pattern \"model.thrid.*\" "
                                                      "matches no tensor"));
    cse_step_destroy(&step);
    cse_dataloader_close(&loader);
    cse_finish();
    table_file_remove(&file);
    static const char *const wrong[][2] = {
        { "{tensors: [a]}", "tensors has no effect without every" },
        { "{every: -1}", "every" },
        { "{evry: 1}", "did you mean" },
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        ck_assert_int_eq(
            cse_configure(&(cse_configuration){ .model_dir = "/nowhere", .numerics = wrong[i][0] }),
            CSE_CONFIG);
        ck_assert_msg(strstr(cse_error_message(), wrong[i][1]) != NULL, "%s", cse_error_message());
    }
}
END_TEST

START_TEST(no_statistics_are_taken_unless_asked)
{
    statistics_run run;
    cse_text text = { 0 };
    configure(_i == 0 ? NULL : "{every: 0, tensors: ['*']}", half_products);
    run_step(&run, false);
    const cse_graph *graph = run.traced.step->graph;
    ck_assert_int_eq(graph->tracked_count, 0);
    cse_program program = { 0 };
    ck_assert_int_eq(cse_codegen_print(graph, &program, &text), CSE_OK);
    ck_assert_ptr_null(strstr(text.data, "collector->"));
    ck_assert_ptr_null(strstr(text.data, "proposed_"));
    cse_program_clear(&program);
    cse_text_clear(&text);
    close_run(&run);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("programs with statistics");
    TCase *cases = tcase_create("programs with statistics");
    if (mkdtemp(directory) == NULL)
        return EXIT_FAILURE;
    tcase_set_timeout(cases, 60);
    tcase_add_loop_test(cases, casts_are_counted_as_by_hand, 0, 2);
    tcase_add_test(cases, both_ways_of_running_count_alike);
    tcase_add_test(cases, tensors_stand_in_the_order_of_execution);
    tcase_add_loop_test(cases, what_an_update_keeps_and_drops_is_proposed, 0, 2);
    tcase_add_test(cases, wrong_settings_are_told_with_their_place);
    tcase_add_loop_test(cases, no_statistics_are_taken_unless_asked, 0, 2);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    temporary_folder_remove(directory);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

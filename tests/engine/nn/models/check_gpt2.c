/* The model gpt2: its parameters, what PyTorch computes from the same weights
 * (tests/reference/gpt2.py), its gradient by finite differences, and the same bits for any number
 * of replicas. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "csengine/csengine.h"
#include "tests/reference/gpt2.h"
#include "tests/support/compiled_graph.h"
#include "tests/support/job_config.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/traced_run.h"

static char folder[64];

static void make_folder(void)
{
    char path[96];
    snprintf(folder, sizeof folder, "/tmp/cse_gpt2_XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/text", folder);
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    for (int i = 0; i < 8; i++) /* the reference takes the first one alone */
        fputs(reference_text, file);
    ck_assert_int_eq(fclose(file), 0);
}

static void remove_folder(void)
{
    temporary_folder_remove(folder);
}

static void data_of(char *yaml, size_t size, int batch, int micro_batch, const char *more)
{
    snprintf(yaml, size,
             "{data_processor: text_bytes, path: %s/text, sequence_length: %d, batch_size: %d, "
             "micro_batch_size: %d%s}",
             folder, REFERENCE_TIME, batch, micro_batch, more);
}

static cse_model *reference_model_with(const char *more)
{
    char settings[512];
    snprintf(settings, sizeof settings, "{%s, %s}", reference_model, more);
    cse_model *model = cse_compile(cse_model_new("gpt2", settings));
    ck_assert_msg(model != NULL, "%s", cse_error_message());
    return model;
}

/* ---- parameters ---- */

START_TEST(parameters_have_the_references_names)
{
    open_session();
    cse_model *model = reference_model_with("dropout: 0");
    ck_assert_int_eq(cse_parameter_tensors(model), REFERENCE_PARAMETERS);
    for (int i = 0; i < REFERENCE_PARAMETERS; i++)
        ck_assert_str_eq(cse_state_name_view(cse_parameter_at(model, i)), reference_names[i]);
    cse_finish();
}
END_TEST

/* The published sizes of GPT-2 (124M, 355M; as Hugging Face's gpt2 and gpt2-medium count them), and
 * of Cerebras-GPT 111M, whose paper counts 111.05 million. */
START_TEST(sizes_are_the_published_ones)
{
    static const struct {
        const char *settings;
        int64_t count;
    } rows[] = {
        { NULL, 124439808 },
        { "{hidden_size: 1024, num_layers: 24, num_heads: 16}", 354823168 },
        { "{num_layers: 10, max_position_embeddings: 2048, filter_size: 3072}", 111050496 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        open_session();
        ck_assert_int_eq(cse_parameter_count(cse_model_new("gpt2", rows[i].settings)),
                         rows[i].count);
        cse_finish();
    }
}
END_TEST

/* A normal cut at two deviations has the variance 1 - 2 * 2 phi(2) / (2 Phi(2) - 1) = 0.77374, its
 * square's variance is below 1; 65,536 draws: five standard errors. */
static void check_moments(cse_model *model, const char *end, double deviation)
{
    static float values[256 * 1024];
    const double n = 256 * 256;
    bool found = false;
    for (int i = 0; i < cse_parameter_tensors(model); i++) {
        cse_state *state = cse_parameter_at(model, i);
        const char *name = cse_state_name_view(state);
        int64_t elements = cse_shape_elements(cse_state_shape(state));
        double sum = 0, squares = 0, largest = 0;
        if (strlen(name) < strlen(end) || strcmp(name + strlen(name) - strlen(end), end) != 0)
            continue;
        found = true;
        ck_assert_int_ge(elements, (int64_t)n);
        ck_assert_int_eq(cse_state_get(state, values, (size_t)elements * sizeof *values), CSE_OK);
        for (int64_t e = 0; e < elements; e++) {
            double value = (double)values[e] / deviation;
            sum += value / (double)elements;
            squares += value * value / (double)elements;
            largest = fmax(largest, fabs(value));
        }
        ck_assert_msg(fabs(sum) < 5 / sqrt(n) && fabs(squares - 0.77374) < 5 / sqrt(n) &&
                          largest <= 2 + 1e-6 && largest > 1.99,
                      "%s: mean %g, variance %g, largest %g", name, sum, squares, largest);
    }
    ck_assert(found);
}

START_TEST(weights_begin_as_truncated_normals)
{
    float values[256];
    open_session();
    cse_model *model = cse_model_new("gpt2", "{hidden_size: 256, num_layers: 3, num_heads: 2, "
                                             "vocab_size: 256, max_position_embeddings: 256}");
    const double output = 0.02 / sqrt(6);
    check_moments(model, "word_embeddings.weight", 0.02);
    check_moments(model, "position_embeddings.embed.weight", 0.02);
    check_moments(model, "proj_q_dense_layer.weight", 0.02);
    check_moments(model, "proj_k_dense_layer.weight", 0.02);
    check_moments(model, "proj_v_dense_layer.weight", 0.02);
    check_moments(model, "proj_output_dense_layer.weight", output);
    check_moments(model, "ffn.ffn.0.linear_layer.weight", 0.02);
    check_moments(model, "ffn.ffn.1.linear_layer.weight", output);
    cse_state *weight = cse_parameter_at(model, 2), *bias = cse_parameter_at(model, 3);
    ck_assert_int_eq(cse_state_get(weight, values, sizeof values), CSE_OK);
    ck_assert(values[0] == 1 && values[255] == 1);
    ck_assert_int_eq(cse_state_get(bias, values, sizeof values), CSE_OK);
    ck_assert(values[0] == 0 && values[255] == 0);
    cse_finish();
}
END_TEST

/* ---- against PyTorch ---- */

/* As tests/reference/gpt2.py. */
static double reference_value(uint64_t parameter, uint64_t element)
{
    uint64_t word = (element * 2654435761u + (parameter + 1) * 974634777u) & 0xffffffff;
    word ^= word >> 16;
    word = word * 73244475u & 0xffffffff;
    word ^= word >> 16;
    return (double)(word >> 8) / 0x1p24 - 0.5;
}

static void set_reference_weights(straight_run *run, cse_model *model)
{
    for (int p = 0; p < cse_parameter_tensors(model); p++) {
        cse_state *state = cse_parameter_at(model, p);
        const char *name = cse_state_name_view(state), *kind = strrchr(name, '.') + 1;
        bool bias = strcmp(kind, "bias") == 0, norm = strstr(name, "norm") != NULL && !bias;
        float *values = straight_run_state(run, name);
        for (int64_t e = 0; e < cse_shape_elements(cse_state_shape(state)); e++)
            values[e] =
                (float)(reference_value((uint64_t)p, (uint64_t)e) * (norm || bias ? 0.25 : 1.0) +
                        (norm ? 1 : 0));
    }
}

static cse_tensor *training_step(cse_step *step, void *self)
{
    cse_optimizer *optimizer = self;
    cse_tensor *loss = cse_model_loss(optimizer->model, step, NULL);
    cse_optimizer_step(step, loss, optimizer, NULL, NULL);
    return loss;
}

static double norm_of(const straight_run *run, cse_state *state)
{
    const float *values = straight_run_state(run, cse_state_name_view(state));
    double sum = 0;
    for (int64_t e = 0; e < cse_shape_elements(cse_state_shape(state)); e++)
        sum += (double)values[e] * (double)values[e];
    return sqrt(sum);
}

/* Three steps from the reference's weights; the microbatches are read through `traced`. */
static void compare_with_pytorch(traced_run *traced, cse_executable *executable, cse_model *model,
                                 int row)
{
    straight_run run;
    straight_run_init(&run, executable, 1);
    set_reference_weights(&run, model);
    for (int step = 0; step < REFERENCE_STEPS; step++) {
        for (int m = 0; m < traced->step->graph->microbatch_count; m++)
            ck_assert_int_eq(cse_dataloader_read(traced->loader, step, m, traced->inputs[m]),
                             CSE_OK);
        straight_run_step(&run, traced->inputs);
        /* float32 against float64, some hundreds of roundings of 6e-8 deep. */
        ck_assert_double_eq_tol((double)straight_run_fetched(&run, 0),
                                reference_runs[row].losses[step], 2e-5);
    }
    for (int p = 0; p < REFERENCE_PARAMETERS; p++)
        ck_assert_double_eq_tol(norm_of(&run, cse_parameter_at(model, p)),
                                reference_runs[row].norms[p], 2e-5);
    straight_run_clear(&run);
}

START_TEST(training_is_as_pytorchs)
{
    char yaml[512], activation[64];
    traced_run traced;
    open_session();
    snprintf(activation, sizeof activation, "dropout: 0, activation: %s",
             reference_runs[_i].activation);
    cse_model *model = reference_model_with(activation);
    cse_optimizer *optimizer = cse_configure_optimizer("SGD", model, reference_optimizer);
    data_of(yaml, sizeof yaml, REFERENCE_BATCH, 2, "");
    traced_run_open(&traced, yaml, training_step, optimizer);
    compare_with_pytorch(&traced, traced.executable, model, _i);
    cse_executable *compiled = fixture_compile(traced.step->graph);
    compare_with_pytorch(&traced, compiled, model, _i);
    cse_executable_destroy(&compiled);
    traced_run_close(&traced);
    fixture_remove_directories();
    cse_finish();
}
END_TEST

/* With dropout, which PyTorch draws from another generator. Both sides sum the same float32
 * numbers, the interpreter in double: sums of at most 128 terms (the vocabulary) round to within
 * 128 * 2^-24, 8e-6, of the terms' size, in each of four steps. */
START_TEST(compiled_dropout_is_the_interpreters)
{
    char yaml[512];
    traced_run compiled, interpreted;
    open_session();
    cse_model *model = reference_model_with("dropout: 0.2");
    cse_optimizer *optimizer = cse_configure_optimizer("SGD", model, reference_optimizer);
    data_of(yaml, sizeof yaml, REFERENCE_BATCH, 2, "");
    traced_run_open_compiled(&compiled, yaml, training_step, optimizer, folder);
    traced_run_open(&interpreted, yaml, training_step, optimizer);
    set_reference_weights(&compiled.run, model);
    set_reference_weights(&interpreted.run, model);
    for (int step = 0; step < 4; step++) {
        traced_run_step(&compiled);
        traced_run_step(&interpreted);
        ck_assert_double_eq_tol((double)straight_run_fetched(&compiled.run, 0),
                                (double)straight_run_fetched(&interpreted.run, 0), 3e-5);
    }
    for (int p = 0; p < REFERENCE_PARAMETERS; p++) {
        cse_state *state = cse_parameter_at(model, p);
        ck_assert_double_eq_tol(norm_of(&compiled.run, state), norm_of(&interpreted.run, state),
                                3e-5);
    }
    traced_run_close(&compiled);
    traced_run_close(&interpreted);
    cse_finish();
}
END_TEST

/* ---- the gradient ---- */

static cse_tensor *loss_step(cse_step *step, void *self)
{
    return cse_model_loss(((cse_optimizer *)self)->model, step, NULL);
}

/* The loss at the weights plus `distance` along `direction` of one parameter. */
static double loss_along(traced_run *traced, cse_state *state, const double *direction,
                         double distance)
{
    float *values = traced_floats(traced, cse_state_name_view(state));
    size_t bytes = (size_t)cse_shape_elements(cse_state_shape(state)) * sizeof *values;
    float *kept = malloc(bytes);
    memcpy(kept, values, bytes);
    for (size_t e = 0; e < bytes / sizeof *values; e++)
        values[e] = (float)((double)values[e] + distance * direction[e]);
    traced->run.step = 0; /* the same batch, the same draws of dropout */
    traced_run_step(traced);
    memcpy(values, kept, bytes);
    free(kept);
    return (double)straight_run_fetched(&traced->run, 0);
}

/* Central differences of two widths, their h^2 terms cancelled. A loss between 4 and 8 is rounded
 * by up to 2.4e-7, a difference by 4.8e-7, what is made of two by 7.2e-7 / h: 4.6e-5 with h = 2^-6.
 * The roundings inside the loss and the h^4 term (seen to shrink by 16 when h is halved, down to
 * that level) add as much again. */
static void compare_along(traced_run *traced, cse_state *state, const double *direction,
                          const double *gradient)
{
    const double h = 0x1p-6, tolerance = 2e-4;
    double expected = 0;
    for (int64_t e = 0; e < cse_shape_elements(cse_state_shape(state)); e++)
        expected += gradient[e] * direction[e];
    double wide =
        loss_along(traced, state, direction, h) - loss_along(traced, state, direction, -h);
    double narrow =
        loss_along(traced, state, direction, h / 2) - loss_along(traced, state, direction, -h / 2);
    double found = (4 * narrow / h - wide / (2 * h)) / 3;
    ck_assert_msg(fabs(found - expected) <= tolerance * fmax(1, fabs(expected)),
                  "%s: %.7g, by differences %.7g", cse_state_name_view(state), expected, found);
}

/* What one step of SGD with rate 1 took away, of one parameter. */
static void take_gradient(const straight_run *before, const straight_run *after, cse_state *state,
                          double *gradient)
{
    const float *old = straight_run_state(before, cse_state_name_view(state));
    const float *new = straight_run_state(after, cse_state_name_view(state));
    for (int64_t e = 0; e < cse_shape_elements(cse_state_shape(state)); e++)
        gradient[e] = (double)old[e] - (double)new[e];
}

/* Along the gradient itself, where any part that is missing shows, and along a direction of random
 * signs, where any part that is too much does. Both are of length 1. */
static void compare_parameter(traced_run *traced, cse_state *state, const double *gradient)
{
    int64_t elements = cse_shape_elements(cse_state_shape(state));
    double *direction = calloc((size_t)elements, sizeof *direction), length = 0;
    for (int64_t e = 0; e < elements; e++) {
        length += gradient[e] * gradient[e];
        direction[e] = (reference_value(99, (uint64_t)e) < 0 ? -1 : 1) / sqrt((double)elements);
    }
    compare_along(traced, state, direction, gradient);
    for (int64_t e = 0; e < elements; e++)
        direction[e] = gradient[e] / sqrt(length);
    /* A key's bias moves all scores of a query alike: the loss does not depend on it. */
    if (strstr(cse_state_name_view(state), "proj_k_dense_layer.bias") != NULL)
        ck_assert_double_le(sqrt(length), 1e-5);
    else
        compare_along(traced, state, direction, gradient);
    free(direction);
}

static const char *const gradient_settings[] = { "dropout: 0", "dropout: 0.2" };

START_TEST(the_gradient_agrees_with_finite_differences)
{
    char yaml[512];
    double gradient[128 * 12];
    traced_run training, loss;
    open_session();
    cse_model *model = reference_model_with(gradient_settings[_i]);
    cse_optimizer *optimizer = cse_configure_optimizer("SGD", model, "{lr: 1}");
    data_of(yaml, sizeof yaml, REFERENCE_BATCH, 2, "");
    traced_run_open(&loss, yaml, loss_step, optimizer);
    traced_run_open(&training, yaml, training_step, optimizer);
    set_reference_weights(&loss.run, model);
    set_reference_weights(&training.run, model);
    traced_run_step(&training);
    for (int p = 0; p < REFERENCE_PARAMETERS; p++) {
        cse_state *state = cse_parameter_at(model, p);
        take_gradient(&loss.run, &training.run, state, gradient);
        compare_parameter(&loss, state, gradient);
    }
    traced_run_close(&training);
    traced_run_close(&loss);
    cse_finish();
}
END_TEST

/* ---- whole jobs ---- */

static float last_loss;

static void keep_loss(void *self, const cse_job_event *event)
{
    (void)self;
    if (event->kind == CSE_JOB_STEP)
        last_loss = event->loss;
}

/* 40 steps of three microbatches. */
static void run_job(int num_csx, cse_job_result *result)
{
    char data[512], yaml[2048];
    job_config job;
    data_of(data, sizeof data, 6, 2, ", shuffle: true");
    snprintf(
        yaml, sizeof yaml,
        "trainer:\n"
        "  init:\n"
        "    backend: {compile_dir: %s/compiled, cluster_config: {num_csx: %d}}\n"
        "    model_dir: %s/model_dir_%d\n"
        "    model: {name: gpt2, hidden_size: 16, num_layers: 1, num_heads: 2, vocab_size: 256, "
        "max_position_embeddings: 8, dropout: 0.1}\n"
        "    optimizer: {AdamW: {lr: 0.01}}\n"
        "    loop: {num_steps: 40}\n"
        "    logging: {log_steps: 20}\n"
        "    seed: 3\n"
        "  fit: {train_dataloader: %s, ckpt_path: null}\n",
        folder, num_csx, folder, num_csx, data);
    job_config_read(yaml, NULL, &job);
    const cse_job_environment environment = { .settings = &job.settings, .on_event = keep_loss };
    ck_assert_msg(cse_job_run(&environment, result) == CSE_OK, "%s", cse_error_message());
    job_config_clear(&job);
}

START_TEST(a_run_has_one_result_for_any_number_of_replicas)
{
    cse_job_result one, three;
    run_job(1, &one);
    ck_assert_int_eq(one.steps, 40);
    /* Begins at the loss of equal chances, log(256) = 5.5; the letters' frequencies alone make less
     * than log(64) of it, the characters there are. */
    ck_assert_double_lt((double)last_loss, log(64));
    run_job(3, &three);
    ck_assert_str_eq(three.weights_digest, one.weights_digest);
}
END_TEST

/* ---- mistakes ---- */

static const struct {
    const char *model, *message;
    int sequence_length;
} wrong[] = {
    { "{hidden_size: 12, num_heads: 5}", "must be divisible", 0 },
    { "{num_layers: 0}", "num_layers", 0 },
    { "{hidden_size: 4, num_layers: 1, num_heads: 2, vocab_size: 256, max_position_embeddings: 7}",
      "at most max_position_embeddings (7)", 8 },
};

START_TEST(mistakes_are_named)
{
    char yaml[512];
    open_session();
    cse_model *model = cse_compile(cse_model_new("gpt2", wrong[_i].model));
    const char *message = cse_error_message();
    if (wrong[_i].sequence_length > 0) {
        data_of(yaml, sizeof yaml, 4, 2, "");
        message = traced_failure(yaml, loss_step, &(cse_optimizer){ .model = model });
    } else {
        ck_assert_int_eq(cse_session_status(), CSE_CONFIG);
    }
    ck_assert_msg(strstr(message, wrong[_i].message) != NULL, "%s", message);
    cse_finish();
}
END_TEST

START_TEST(pictures_are_no_tokens)
{
    open_session();
    cse_model *model = cse_compile(cse_model_new("gpt2", "{hidden_size: 4, num_layers: 1, "
                                                         "num_heads: 2, vocab_size: 8}"));
    const char *message = traced_failure("{data_processor: synthetic, features: [8], "
                                         "samples: 64, batch_size: 4}",
                                         loss_step, &(cse_optimizer){ .model = model });
    ck_assert_msg(strstr(message, "indices must be int32") != NULL, "%s", message);
    cse_finish();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("gpt2");
    TCase *cases = tcase_create("all");
    tcase_set_timeout(cases, 120);
    tcase_add_checked_fixture(cases, make_folder, remove_folder);
    tcase_add_test(cases, parameters_have_the_references_names);
    tcase_add_test(cases, sizes_are_the_published_ones);
    tcase_add_test(cases, weights_begin_as_truncated_normals);
    tcase_add_loop_test(cases, training_is_as_pytorchs, 0,
                        (int)(sizeof reference_runs / sizeof reference_runs[0]));
    tcase_add_test(cases, compiled_dropout_is_the_interpreters);
    tcase_add_loop_test(cases, the_gradient_agrees_with_finite_differences, 0, 2);
    tcase_add_loop_test(cases, mistakes_are_named, 0, (int)(sizeof wrong / sizeof wrong[0]));
    tcase_add_test(cases, pictures_are_no_tokens);
    if (getenv("CSENGINE_EXECUTABLE") != NULL)
        tcase_add_test(cases, a_run_has_one_result_for_any_number_of_replicas);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}

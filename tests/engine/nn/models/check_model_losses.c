/* Models beside PyTorch in float64: losses of three steps, and the size of every parameter after
 * them, from weights that both sides compute. The models stand a second time, as formulas, in
 * tests/reference/models.py. Names and their order are compared on the way. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "csengine/csengine.h"
#include "csengine/modules.h"
#include "engine/nn/models/bert_pretraining.h"
#include "engine/nn/models/decoder.h"
#include "tests/reference/models_bert.h"
#include "tests/reference/models_images.h"
#include "tests/reference/models_layers.h"
#include "tests/reference/models_t5.h"
#include "tests/reference/models_text.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/traced_run.h"

static char folder[64];

/* As tests/reference/models.py. */
static double reference_value(uint64_t parameter, uint64_t element)
{
    uint64_t word = (element * 2654435761u + (parameter + 1) * 974634777u) & 0xffffffff;
    word ^= word >> 16;
    word = word * 73244475u & 0xffffffff;
    word ^= word >> 16;
    return (double)(word >> 8) / 0x1p24 - 0.5;
}

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), last = strlen(end);
    return length >= last && strcmp(text + length - last, end) == 0;
}

/* Whether a weight is that of a norm, which begins around 1. */
static bool is_around_one(const char *name)
{
    char module[256];
    if (!ends_with(name, ".weight"))
        return false;
    snprintf(module, sizeof module, "%.*s", (int)(strlen(name) - strlen(".weight")), name);
    const char *last = strrchr(module, '.');
    last = last != NULL ? last + 1 : module;
    return strstr(last, "norm") != NULL || strstr(last, "bn") != NULL ||
           strstr(last, "ln") != NULL || ends_with(module, "downsample.1");
}

static double scale_of(const char *name, cse_shape shape)
{
    double inputs = 1;
    for (int i = 1; i < shape.rank; i++)
        inputs *= (double)shape.dims[i];
    if (is_around_one(name) || shape.rank == 1)
        return 0.25;
    return shape.rank == 4 ? exp2(-nearbyint(log2(sqrt(inputs) / 2))) : 1;
}

static void set_weights(const traced_run *traced, cse_model *model)
{
    for (int p = 0; p < cse_parameter_tensors(model); p++) {
        cse_state *state = cse_parameter_at(model, p);
        const char *name = cse_state_name_view(state);
        const cse_shape shape = cse_state_shape(state);
        const double scale = scale_of(name, shape), shift = is_around_one(name) ? 1 : 0;
        float *values = traced_floats(traced, name);
        for (int64_t e = 0; e < cse_shape_elements(shape); e++)
            values[e] = (float)(reference_value((uint64_t)p, (uint64_t)e) * scale + shift);
    }
}

static cse_tensor *training_step(cse_step *step, void *self)
{
    cse_optimizer *optimizer = self;
    cse_tensor *loss = cse_model_loss(optimizer->model, step, NULL);
    cse_optimizer_step(step, loss, optimizer, NULL, NULL);
    return loss;
}

/* Two samples in a row, as SAMPLES in tests/reference/models.py. */
static cse_tensor *packed_step(cse_step *step, void *self)
{
    static const int32_t place[8] = { 0, 1, 2, 3, 4, 0, 1, 2 };
    static const int32_t follow[8] = { 4, 3, 2, 1, 0, 2, 1, 0 };
    static const int32_t counted[2][8] = { { 1, 1, 1, 1, 0, 1, 1, 0 }, { 1, 0, 0, 0, 0, 0, 1, 0 } };
    const cse_shape row = cse_shape_of(1, 8), rows = cse_shape_of(2, 8);
    cse_optimizer *optimizer = self;
    cse_decoder *decoder = cse_model_self(optimizer->model);
    decoder->inputs.positions =
        cse_broadcast_to(cse_constant_data(step, row, CSE_INT32, place), rows);
    decoder->inputs.span = cse_broadcast_to(cse_constant_data(step, row, CSE_INT32, follow), rows);
    cse_tensor *logits = cse_forward(optimizer->model, cse_input(step, "input_ids"));
    cse_tensor *loss = cse_lm_loss(logits, cse_input(step, "labels"),
                                   cse_constant_data(step, rows, CSE_INT32, counted), NULL);
    cse_optimizer_step(step, loss, optimizer, NULL, NULL);
    return loss;
}

/* As bert_batch in tests/reference/models.py; `packed`: three sequences in a sample. */
static cse_tensor *pretraining_loss(cse_step *step, cse_model *model, bool packed)
{
    static const int32_t span[] = { 2, 1, 0, 4, 3, 2, 1, 0 }, place[] = { 0, 1, 2, 0, 1, 2, 3, 4 };
    const cse_shape row = cse_shape_of(1, 8), rows = cse_shape_of(2, 8);
    static const int32_t places[2][3] = { { 1, 4, 6 }, { 0, 3, 7 } };
    static const float counted[2][3] = { { 1, 1, 0 }, { 1, 1, 1 } };
    cse_tensor *tokens = cse_input(step, "input_ids"), *labels = cse_input(step, "labels");
    cse_tensor *predictions = NULL;
    cse_bert_inputs inputs = {
        .tokens = tokens,
        .segments = cse_bitwise_and(tokens, cse_constant_int(1)),
        .attention_mask = cse_cast(cse_not_equal(tokens, cse_constant_int(32)), CSE_INT32),
    };
    if (packed) {
        inputs.span = cse_broadcast_to(cse_constant_data(step, row, CSE_INT32, span), rows);
        inputs.positions = cse_broadcast_to(cse_constant_data(step, row, CSE_INT32, place), rows);
    }
    cse_bert_targets targets = {
        .positions = cse_constant_data(step, cse_shape_of(2, 3), CSE_INT32, places),
        .mask = cse_constant_data(step, cse_shape_of(2, 3), CSE_FLOAT32, counted),
        .next_sentence = cse_bitwise_and(cse_slice_axis(labels, 1, 0, 1), cse_constant_int(1)),
    };
    targets.labels = cse_take_along(labels, targets.positions, 1);
    return cse_bert_losses(model, &inputs, &targets, &predictions);
}

static cse_tensor *sentence_loss(cse_step *step, cse_model *model)
{
    cse_tensor *logits = cse_forward(model, cse_input(step, "input_ids"));
    cse_tensor *labels = cse_slice_axis(cse_input(step, "labels"), 1, 0, 1);
    labels = cse_reshape(cse_bitwise_and(labels, cse_constant_int(1)), cse_shape_of(2));
    return cse_cross_entropy(logits, labels);
}

static cse_tensor *bert_step(cse_step *step, void *self)
{
    cse_optimizer *optimizer = self;
    const bool classifies = strcmp(optimizer->model->descriptor->name, "bert/classifier") == 0;
    cse_tensor *loss = classifies ? sentence_loss(step, optimizer->model)
                                  : pretraining_loss(step, optimizer->model, false);
    cse_optimizer_step(step, loss, optimizer, NULL, NULL);
    return loss;
}

static cse_tensor *packed_bert_step(cse_step *step, void *self)
{
    cse_optimizer *optimizer = self;
    cse_tensor *loss = pretraining_loss(step, optimizer->model, true);
    cse_optimizer_step(step, loss, optimizer, NULL, NULL);
    return loss;
}

static void write_text(char *yaml, size_t size, const model_run *row)
{
    char path[96];
    snprintf(path, sizeof path, "%s/text", folder);
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fputs(model_text, file);
    ck_assert_int_eq(fclose(file), 0);
    snprintf(yaml, size,
             "{data_processor: text_bytes, path: %s, sequence_length: %d, batch_size: %d, "
             "micro_batch_size: %d}",
             path, MODEL_TIME, row->batch_size, row->micro_batch_size);
}

static void write_images(table_file *file, const model_run *row)
{
    static double pixels[MODEL_ROWS * MODEL_PIXELS];
    int labels[MODEL_ROWS];
    for (int i = 0; i < MODEL_ROWS * MODEL_PIXELS; i++)
        pixels[i] = round(sin(1.1 * i + 0.3) * 1e4) / 1e4;
    for (int i = 0; i < MODEL_ROWS; i++)
        labels[i] = i * 7 % 5 % MODEL_CLASSES;
    table_file_write(file, &(table_content){ .features = pixels,
                                             .labels = labels,
                                             .rows = MODEL_ROWS,
                                             .columns = MODEL_PIXELS,
                                             .classes = MODEL_CLASSES,
                                             .batch_size = row->batch_size,
                                             .micro_batch_size = row->micro_batch_size });
}

static cse_model *open_model(const model_run *row)
{
    char settings[1024];
    open_session();
    snprintf(settings, sizeof settings, "{%s}", row->settings);
    cse_model *model = cse_compile(cse_model_new(row->model, settings));
    ck_assert_msg(model != NULL, "%s", cse_error_message());
    for (int i = 0; row->parameters[i].name != NULL; i++) {
        ck_assert_int_lt(i, cse_parameter_tensors(model));
        ck_assert_str_eq(cse_state_name_view(cse_parameter_at(model, i)) + strlen("model."),
                         row->parameters[i].name);
        ck_assert_ptr_null(row->parameters[i + 1].name != NULL ? NULL
                                                               : cse_parameter_at(model, i + 1));
    }
    return model;
}

static double norm_of(const traced_run *traced, const char *name, int64_t elements)
{
    const float *values = traced_floats(traced, name);
    double sum = 0;
    for (int64_t e = 0; e < elements; e++)
        sum += (double)values[e] * (double)values[e];
    return sqrt(sum);
}

/* float32 against float64, some hundreds of roundings of 6e-8 deep. */
static const double tolerance = 2e-5;

static void compare(traced_run *traced, cse_model *model, const model_run *row)
{
    set_weights(traced, model);
    for (int step = 0; step < MODEL_STEPS; step++) {
        traced_run_step(traced);
        double loss = (double)straight_run_fetched(&traced->run, traced->step->loss_fetch);
        ck_assert_msg(fabs(loss - row->losses[step]) < tolerance * fmax(1, fabs(loss)),
                      "%s {%s}: the loss of step %d is %.9g, PyTorch's %.9g", row->model,
                      row->settings, step, loss, row->losses[step]);
    }
    for (int i = 0; row->parameters[i].name != NULL; i++) {
        const char *name = cse_state_name_view(cse_parameter_at(model, i));
        double norm =
            norm_of(traced, name, cse_shape_elements(cse_state_shape(cse_parameter_at(model, i))));
        ck_assert_msg(fabs(norm - row->parameters[i].norm) < tolerance * fmax(1, norm),
                      "%s {%s}: the norm of %s is %.9g, PyTorch's %.9g", row->model, row->settings,
                      name, norm, row->parameters[i].norm);
    }
}

static void train_beside_pytorch(const model_run *row, bool compiled)
{
    char yaml[512], rate[64];
    table_file file;
    traced_run traced;
    const bool text = strcmp(row->data, "images") != 0;
    cse_step_function *step = strcmp(row->data, "bert") == 0          ? bert_step
                              : strcmp(row->data, "packed_bert") == 0 ? packed_bert_step
                              : strcmp(row->data, "packed") == 0      ? packed_step
                                                                      : training_step;
    cse_model *model = open_model(row);
    snprintf(rate, sizeof rate, "{lr: %g, momentum: 0.9}", row->rate);
    cse_optimizer *optimizer = cse_configure_optimizer("SGD", model, rate);
    if (text)
        write_text(yaml, sizeof yaml, row);
    else
        write_images(&file, row);
    if (compiled)
        traced_run_open_compiled(&traced, yaml, step, optimizer, folder);
    else
        traced_run_open(&traced, text ? yaml : file.yaml, step, optimizer);
    compare(&traced, model, row);
    traced_run_close(&traced);
    cse_finish();
    if (!text)
        table_file_remove(&file);
}

START_TEST(language_models_train_as_in_pytorch)
{
    train_beside_pytorch(&text_runs[_i], false);
}
END_TEST

START_TEST(encoders_of_text_train_as_in_pytorch)
{
    train_beside_pytorch(&bert_runs[_i], false);
}
END_TEST

START_TEST(models_of_images_train_as_in_pytorch)
{
    train_beside_pytorch(&images_runs[_i], false);
}
END_TEST

START_TEST(described_networks_train_as_in_pytorch)
{
    train_beside_pytorch(&layers_runs[_i], false);
}
END_TEST

START_TEST(encoders_with_decoders_train_as_in_pytorch)
{
    train_beside_pytorch(&t5_runs[_i], false);
}
END_TEST

/* The others have the same modules; tests/run/check_model_configs.sh runs their compiled steps. */
START_TEST(compiled_llama_trains_as_in_pytorch)
{
    train_beside_pytorch(&text_runs[0], true);
}
END_TEST

int main(void)
{
    snprintf(folder, sizeof folder, "/tmp/cse_model_losses_XXXXXX");
    if (mkdtemp(folder) == NULL)
        return 1;
    Suite *suite = suite_create("model losses");
    TCase *cases = tcase_create("all");
    tcase_set_timeout(cases, 120);
    tcase_add_loop_test(cases, language_models_train_as_in_pytorch, 0,
                        (int)(sizeof text_runs / sizeof text_runs[0]));
    tcase_add_loop_test(cases, models_of_images_train_as_in_pytorch, 0,
                        (int)(sizeof images_runs / sizeof images_runs[0]));
    tcase_add_loop_test(cases, encoders_of_text_train_as_in_pytorch, 0,
                        (int)(sizeof bert_runs / sizeof bert_runs[0]));
    tcase_add_loop_test(cases, described_networks_train_as_in_pytorch, 0,
                        (int)(sizeof layers_runs / sizeof layers_runs[0]));
    tcase_add_loop_test(cases, encoders_with_decoders_train_as_in_pytorch, 0,
                        (int)(sizeof t5_runs / sizeof t5_runs[0]));
    tcase_add_test(cases, compiled_llama_trains_as_in_pytorch);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    temporary_folder_remove(folder);
    return failed == 0 ? 0 : 1;
}

/* Moments in bfloat16 and in blocks of 8 bits: the bits of each step, interpreted and compiled,
 * against a definition of their own; Adam against float64; what a skipped step leaves; what is
 * refused. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "csengine/csengine.h"
#include "engine/base/random.h"
#include "engine/base/types/dtype.h"
#include "engine/graph/ops/blockwise.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/traced_run.h"

/* Not a whole number of blocks. */
enum { SIZE = 4500, STEPS = 6, SEED = 5, BLOCKS = (SIZE + 255) / 256 };

static const char *const forms[] = { "float32", "bfloat16", "bfloat16, moments_rounding: nearest",
                                     "int8_blocks" };
enum { FLOAT32, STOCHASTIC, NEAREST, BLOCKWISE, FORM_COUNT };

static cse_status build_vector(cse_model *model, const cse_settings *settings)
{
    cse_state **w = cse_model_self(model);
    *w = cse_parameter(model, "w", cse_shape_of(cse_settings_integer(settings, "size")),
                       (cse_initializer){ CSE_INIT_CONSTANT, 1.01, 0 });
    return CSE_OK;
}

static cse_tensor *forward_vector(cse_model *model, cse_tensor *input)
{
    cse_state **w = cse_model_self(model);
    return cse_mul(input, cse_read(*w));
}

static const cse_setting settings_table[] = {
    { .name = "size", .type = CSE_SETTING_INTEGER, .default_value = "4500", .min = 1, .max = 1e6 },
    { .name = NULL },
};

static const cse_model_descriptor vector = {
    .name = "vector",
    .summary = "the gradient of its loss is its input",
    .settings = settings_table,
    .abi = CSE_MODEL_ABI,
    .self_bytes = sizeof(cse_state *),
    .build = build_vector,
    .forward = forward_vector,
};

typedef struct training {
    cse_optimizer *optimizer;
    cse_model *model;
    cse_grad_scaler *scaler;
    table_file file;
    traced_run traced;
    char folder[32];
} training;

static cse_tensor *sum_step(cse_step *step, void *self)
{
    const training *t = self;
    cse_tensor *loss = cse_sum_all(cse_forward(t->model, cse_input(step, "images")));
    cse_optimizer_step(step, loss, t->optimizer, t->scaler, NULL);
    return loss;
}

static bool fades; /* what was in the first step */

static double gradient_of(int step, int i)
{
    uint32_t words[4];
    if (fades)
        return step == 0 ? 1.25 : 0;
    cse_draw_words(99, step, 1, 0, (uint32_t)i, words);
    return ((double)(words[0] >> 12) * 0x1p-20 - 0.5) * (i % 3 == 0 ? 0x1p-10 : 1);
}

static void configure(training *t, const char *optimizer, const char *settings)
{
    ck_assert_int_eq(cse_configure(&(cse_configuration){ .model_dir = "/nowhere", .seed = SEED }),
                     CSE_OK);
    *t = (training){ .model = cse_compile(cse_model_define(&vector, NULL)) };
    t->optimizer = cse_configure_optimizer(optimizer, t->model, settings);
}

/* Gradients in rows; `scale`: the loss scale, 0: none. */
static void open_training(training *t, const char *optimizer, const char *settings, bool compiled)
{
    static double features[STEPS * SIZE];
    for (int s = 0; s < STEPS; s++)
        for (int i = 0; i < SIZE; i++)
            features[s * SIZE + i] = gradient_of(s, i);
    configure(t, optimizer, settings);
    ck_assert_msg(cse_session_status() == CSE_OK, "%s", cse_error_message());
    table_file_write(&t->file, &(table_content){ .features = features,
                                                 .rows = STEPS,
                                                 .columns = SIZE,
                                                 .batch_size = 1,
                                                 .micro_batch_size = 1 });
    snprintf(t->folder, sizeof t->folder, "/tmp/cse_moments_XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(t->folder));
    if (compiled)
        traced_run_open_compiled(&t->traced, t->file.yaml, sum_step, t, t->folder);
    else
        traced_run_open(&t->traced, t->file.yaml, sum_step, t);
    t->traced.run.seed = SEED;
}

static void close_training(training *t)
{
    traced_run_close(&t->traced);
    cse_finish();
    table_file_remove(&t->file);
    temporary_folder_remove(t->folder);
}

static void *bytes_of(const training *t, const char *name)
{
    return traced_floats(&t->traced, name);
}

/* What a form keeps of the values. */
static void keep(int form, const char *stream, int step, int32_t factor, float values[SIZE])
{
    const uint64_t key = cse_hash_key(SEED, step, (uint32_t)cse_hash_string(stream), 0, 0);
    int32_t words[BLOCKS * CSE_BLOCK_WORDS];
    for (int i = 0; i < SIZE && form != FLOAT32 && form != BLOCKWISE; i++)
        values[i] = form == NEAREST ? cse_float_from_bfloat16(cse_bfloat16_from_float(values[i]))
                                    : cse_round_stochastic(CSE_BFLOAT16, values[i],
                                                           cse_hash_bits(key, (uint32_t)i));
    if (form != BLOCKWISE)
        return;
    cse_quantize_values(values, SIZE, factor, words);
    cse_dequantize_values(words, SIZE, factor, values);
}

/* The values of a moment as it lies there. */
static void read_moment(const training *t, int form, const char *name, int32_t factor,
                        float values[SIZE])
{
    const void *bytes = bytes_of(t, name);
    if (form == BLOCKWISE)
        cse_dequantize_values(bytes, SIZE, factor, values);
    for (int i = 0; i < SIZE && form != BLOCKWISE; i++)
        values[i] = form == FLOAT32 ? ((const float *)bytes)[i]
                                    : cse_float_from_bfloat16(((const uint16_t *)bytes)[i]);
}

static void check_bits(int form, bool compiled)
{
    static float w[SIZE], buffer[SIZE], kept[SIZE];
    training t;
    char settings[128];
    snprintf(settings, sizeof settings, "{lr: 0.015625, momentum: 0.9, moments: %s}", forms[form]);
    open_training(&t, "SGD", settings, compiled);
    const float *after = traced_floats(&t.traced, "model.w");
    memcpy(w, after, sizeof w);
    memset(buffer, 0, sizeof buffer);
    for (int s = 0; s < STEPS; s++) {
        traced_run_step(&t.traced);
        for (int i = 0; i < SIZE; i++) {
            buffer[i] = buffer[i] * 0.9f + (float)gradient_of(s, i);
            w[i] = w[i] - buffer[i] * 0.015625f;
        }
        keep(form, "optimizer.w.momentum_buffer.rounding", s, 1, buffer);
        read_moment(&t, form, "optimizer.w.momentum_buffer", 1, kept);
        for (int i = 0; i < SIZE; i++)
            ck_assert_msg(cse_float_bits(w[i]) == cse_float_bits(after[i]) && buffer[i] == kept[i],
                          "%s, step %d: w[%d] is %a, not %a; the buffer %a, not %a", forms[form], s,
                          i, (double)after[i], (double)w[i], (double)kept[i], (double)buffer[i]);
    }
    close_training(&t);
}

START_TEST(the_interpreter_keeps_what_is_defined)
{
    check_bits(_i, false);
}
END_TEST

START_TEST(compiled_code_keeps_what_is_defined)
{
    check_bits(_i, true);
}
END_TEST

/* A thousandth less is less than half of the distance to the next value: to nearest it is lost in
 * each step, stochastically it is kept on the average. */
START_TEST(a_moment_that_fades_does_so_on_the_average)
{
    static float kept[SIZE];
    const double exact = 1.25 * pow(0.999, STEPS - 1);
    fades = true;
    for (int form = STOCHASTIC; form <= NEAREST; form++) {
        training t;
        char settings[128];
        double mean = 0;
        snprintf(settings, sizeof settings, "{lr: 0.01, momentum: 0.999, moments: %s}",
                 forms[form]);
        open_training(&t, "SGD", settings, true);
        for (int s = 0; s < STEPS; s++)
            traced_run_step(&t.traced);
        read_moment(&t, form, "optimizer.w.momentum_buffer", 1, kept);
        for (int i = 0; i < SIZE; i++)
            mean += (double)kept[i] / SIZE;
        /* Six standard deviations: five draws of at most 2^-8 in 4500 elements. */
        const double expected = form == NEAREST ? 1.25 : exact;
        ck_assert_msg(fabs(mean - expected) < 4e-4, "%s: %.6g, not %.6g", forms[form], mean,
                      expected);
        close_training(&t);
    }
    fades = false;
}
END_TEST

/* Each step of Adam in float64, from the moments that the step before has left. */
START_TEST(adam_computes_with_what_was_kept)
{
    static float m[SIZE], v[SIZE], next_m[SIZE], next_v[SIZE], w[SIZE];
    const int form = _i;
    training t;
    char settings[128];
    snprintf(settings, sizeof settings, "{lr: 0.01, betas: [0.9, 0.99], moments: %s}", forms[form]);
    open_training(&t, "AdamW", settings, true);
    const float *after = traced_floats(&t.traced, "model.w");
    for (int s = 0; s < STEPS; s++) {
        memcpy(w, after, sizeof w);
        read_moment(&t, form, "optimizer.w.exp_avg", 1, m);
        read_moment(&t, form, "optimizer.w.exp_avg_sq", 2, v);
        traced_run_step(&t.traced);
        read_moment(&t, form, "optimizer.w.exp_avg", 1, next_m);
        read_moment(&t, form, "optimizer.w.exp_avg_sq", 2, next_v);
        for (int i = 0; i < SIZE; i++) {
            const double g = gradient_of(s, i);
            const double first = 0.9 * (double)m[i] + 0.1 * g;
            const double second = 0.99 * (double)v[i] + 0.01 * g * g;
            const double bias = sqrt(1 - pow(0.99, s + 1)) / (1 - pow(0.9, s + 1));
            const double expected = (double)w[i] - 0.01 * first / (sqrt(second) + 1e-6) * bias;
            /* bfloat16 is off by a part in 128 at most; blocks of random numbers in [-1, 1] by half
             * of the widest part, and what is small by less than its distance to the next value. */
            const double off = form == BLOCKWISE ? 0.012 : 0x1p-7;
            ck_assert_msg(fabs((double)after[i] - expected) < 2e-6, "%s: w[%d] is %.9g, not %.9g",
                          forms[form], i, (double)after[i], expected);
            ck_assert(fabs((double)next_m[i] - first) <=
                      off * (form == BLOCKWISE ? 1 : fabs(first)) + 1e-9);
            ck_assert(fabs((double)next_v[i] - second) <=
                      off * (form == BLOCKWISE ? 1 : second) + 1e-9);
            ck_assert(next_v[i] >= 0);
        }
    }
    close_training(&t);
}
END_TEST

/* A step whose gradients are not finite leaves every bit. */
START_TEST(an_overflow_leaves_the_moments)
{
    const int form = _i / 2;
    training t;
    char settings[128];
    snprintf(settings, sizeof settings, "{lr: 0.01, moments: %s}", forms[form]);
    static double features[3 * SIZE];
    for (int i = 0; i < 3 * SIZE; i++)
        features[i] = i / SIZE == 1 && i % SIZE == 77 ? 3e38 : gradient_of(i / SIZE, i % SIZE);
    configure(&t, "AdamW", settings);
    t.scaler = cse_grad_scaler_new("{loss_scale: 1024}");
    table_file_write(&t.file, &(table_content){ .features = features,
                                                .rows = 3,
                                                .columns = SIZE,
                                                .batch_size = 1,
                                                .micro_batch_size = 1 });
    snprintf(t.folder, sizeof t.folder, "/tmp/cse_moments_XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(t.folder));
    if (_i % 2 != 0)
        traced_run_open_compiled(&t.traced, t.file.yaml, sum_step, &t, t.folder);
    else
        traced_run_open(&t.traced, t.file.yaml, sum_step, &t);
    const size_t size = form == FLOAT32     ? SIZE * 4
                        : form == BLOCKWISE ? (size_t)BLOCKS * CSE_BLOCK_WORDS * 4
                                            : SIZE * 2;
    static const char *const names[] = { "optimizer.w.exp_avg", "optimizer.w.exp_avg_sq" };
    unsigned char *kept[2] = { malloc(size), malloc(size) };
    traced_run_step(&t.traced);
    for (int n = 0; n < 2; n++)
        memcpy(kept[n], bytes_of(&t, names[n]), size);
    traced_run_step(&t.traced);
    ck_assert_int_eq(traced_int(&t.traced, "grad_scaler.num_skipped_steps"), 1);
    for (int n = 0; n < 2; n++)
        ck_assert_mem_eq(bytes_of(&t, names[n]), kept[n], size);
    traced_run_step(&t.traced);
    for (int n = 0; n < 2; n++) {
        ck_assert_mem_ne(bytes_of(&t, names[n]), kept[n], size);
        free(kept[n]);
    }
    close_training(&t);
}
END_TEST

/* Each optimizer that has the setting trains with each form, near to what float32 gives. */
static const struct {
    const char *name, *settings;
} optimizers[] = {
    { "Adam", "lr: 0.01, amsgrad: true" },
    { "Adadelta", "lr: 0.5" },
    { "Adafactor", "lr: 0.01, beta1: 0.9" },
    { "Adagrad", "lr: 0.01" },
    { "Adamax", "lr: 0.01" },
    { "Lamb", "lr: 0.01" },
    { "Lion", "lr: 0.001" },
    { "NAdam", "lr: 0.01" },
    { "RAdam", "lr: 0.01" },
    { "RMSprop", "lr: 0.01, momentum: 0.5" },
    { "SM3", "lr: 0.01, momentum: 0.5" },
    { "SGD", "lr: 0.1, momentum: 0.9, nesterov: true" },
};
enum { OPTIMIZERS = sizeof optimizers / sizeof optimizers[0] };

START_TEST(every_optimizer_with_moments_takes_every_form)
{
    static float exact[SIZE];
    for (int form = 0; form < FORM_COUNT; form++) {
        training t;
        char settings[160];
        double off = 0, moved = 0;
        snprintf(settings, sizeof settings, "{%s, moments: %s}", optimizers[_i].settings,
                 forms[form]);
        open_training(&t, optimizers[_i].name, settings, true);
        const float *w = traced_floats(&t.traced, "model.w");
        for (int s = 0; s < STEPS; s++)
            traced_run_step(&t.traced);
        for (int i = 0; i < SIZE; i++) {
            if (form == FLOAT32)
                exact[i] = w[i];
            off += fabs((double)w[i] - (double)exact[i]);
            moved += fabs((double)exact[i] - 1.01);
        }
        /* What is off comes from moments that were rounded to a part in 100 or so; what is divided
         * by a small root is off by more, and all of it with Lamb, which divides by a norm. */
        ck_assert_msg(off <= 0.15 * moved && moved > 0, "%s, %s: %g of %g", optimizers[_i].name,
                      forms[form], off, moved);
        /* Lion takes the signs alone. */
        ck_assert_msg(form == FLOAT32 || off > 0 || strcmp(optimizers[_i].name, "Lion") == 0,
                      "%s, %s: nothing was rounded", optimizers[_i].name, forms[form]);
        close_training(&t);
    }
}
END_TEST

static void expect_refused(const char *optimizer, const char *settings, const char *part)
{
    training t;
    configure(&t, optimizer, settings);
    ck_assert_int_eq(cse_session_status(), CSE_CONFIG);
    ck_assert_msg(strstr(cse_error_message(), part) != NULL, "%s %s: %s", optimizer, settings,
                  cse_error_message());
    cse_finish();
}

START_TEST(what_has_no_effect_is_refused)
{
    expect_refused("AdamW", "{moments: int8}", "accepted: one of float32, bfloat16, int8_blocks");
    expect_refused("AdamW", "{moments_rounding: nearest}", "is for moments: bfloat16");
    expect_refused("AdamW", "{moments: int8_blocks, moments_rounding: stochastic}",
                   "is for moments: bfloat16");
    expect_refused("SGD", "{lr: 0.1, moments: bfloat16}", "keeps none with these settings");
    expect_refused("Adafactor", "{lr: 0.1, moments: int8_blocks}", "keeps none");
    expect_refused("Rprop", "{moments: bfloat16}", "moments");
    expect_refused("ASGD", "{moments: bfloat16}", "moments");
    expect_refused("RMSprop", "{centered: true, moments: bfloat16}", "with centered");
    expect_refused("Adagrad", "{initial_accumulator_value: 0.1, moments: int8_blocks}",
                   "begin at 0");
}
END_TEST

/* A group may keep them otherwise, and parameters of fewer elements are not worth it. */
START_TEST(groups_and_small_parameters_differ)
{
    training t;
    configure(&t, "AdamW", "{moments: int8_blocks, params: [{params: w, moments: bfloat16}]}");
    ck_assert_msg(cse_session_status() == CSE_OK, "%s", cse_error_message());
    cse_state *states[8];
    ck_assert_int_eq(cse_part_states(CSE_PART_OPTIMIZER, states, 8), 4);
    ck_assert_int_eq(cse_state_dtype(states[0]), CSE_BFLOAT16);
    cse_finish();
    ck_assert_int_eq(cse_configure(&(cse_configuration){ .model_dir = "/nowhere" }), CSE_OK);
    cse_model *model = cse_compile(cse_model_define(&vector, "{size: 4095}"));
    cse_configure_optimizer("AdamW", model, "{moments: int8_blocks}");
    ck_assert_int_eq(cse_part_states(CSE_PART_OPTIMIZER, states, 8), 4);
    ck_assert_int_eq(cse_state_dtype(states[0]), CSE_FLOAT32);
    cse_finish();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("moments");
    TCase *cases = tcase_create("moments");
    tcase_set_timeout(cases, 120);
    tcase_add_loop_test(cases, the_interpreter_keeps_what_is_defined, 0, FORM_COUNT);
    tcase_add_loop_test(cases, compiled_code_keeps_what_is_defined, 0, FORM_COUNT);
    tcase_add_test(cases, a_moment_that_fades_does_so_on_the_average);
    tcase_add_loop_test(cases, adam_computes_with_what_was_kept, 0, FORM_COUNT);
    tcase_add_loop_test(cases, an_overflow_leaves_the_moments, 0, 2 * FORM_COUNT);
    tcase_add_loop_test(cases, every_optimizer_with_moments_takes_every_form, 0, OPTIMIZERS);
    tcase_add_test(cases, what_has_no_effect_is_refused);
    tcase_add_test(cases, groups_and_small_parameters_differ);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

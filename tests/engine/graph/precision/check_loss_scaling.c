/* Loss scaling: the scaler against its definition over random sequences, an injected overflow that
 * changes no state of any optimizer, powers of two that change no bit, and
 * float16, which trains with a scale and does not without. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "csengine/csengine.h"
#include "engine/base/random.h"
#include "engine/nn/plugins.h"
#include "tests/support/traced_run.h"

enum { SIZE = 3, MOST_STEPS = 300 };

static cse_status build_vector(cse_model *model, const cse_settings *settings)
{
    cse_state **w = cse_model_self(model);
    (void)settings;
    *w = cse_parameter(model, "w", cse_shape_of(SIZE, 1),
                       (cse_initializer){ CSE_INIT_CONSTANT, 1, 0 });
    return CSE_OK;
}

/* [batch, SIZE] x [SIZE, 1] */
static cse_tensor *forward_vector(cse_model *model, cse_tensor *input)
{
    cse_state **w = cse_model_self(model);
    return cse_matmul(input, cse_read(*w), false, false);
}

static const cse_setting no_settings[] = { { .name = NULL } };

static const cse_model_descriptor vector = {
    .name = "vector",
    .summary = "one product",
    .settings = no_settings,
    .abi = CSE_MODEL_ABI,
    .self_bytes = sizeof(cse_state *),
    .build = build_vector,
    .forward = forward_vector,
};

typedef struct training {
    cse_model *model;
    cse_optimizer *optimizer;
    cse_grad_scaler *scaler;
    double multiplier;
} training;

/* The gradient is the input. */
static cse_tensor *linear_step(cse_step *step, void *self)
{
    const training *t = self;
    cse_tensor *loss = cse_sum_all(cse_forward(t->model, cse_input(step, "images")));
    cse_optimizer_step(step, loss, t->optimizer, t->scaler, NULL);
    return loss;
}

static uint32_t draw(uint32_t run, uint32_t number)
{
    uint32_t words[4];
    cse_draw_words(11, 0, 5, run, number, words);
    return words[0];
}

static void write_table(table_file *file, const double *features, int rows)
{
    table_file_write(file, &(table_content){ .features = features,
                                             .rows = rows,
                                             .columns = SIZE,
                                             .batch_size = 1,
                                             .micro_batch_size = 1 });
}

static void open_session_with(const char *precision)
{
    ck_assert_msg(cse_configure(&(cse_configuration){
                      .model_dir = "/nowhere", .seed = 1, .precision = precision }) == CSE_OK,
                  "%s", cse_error_message());
}

static training open_training(const char *optimizer, const char *settings, const char *scaler)
{
    training t = { .model = cse_compile(cse_model_define(&vector, NULL)) };
    t.optimizer = cse_configure_optimizer(optimizer, t.model, settings);
    cse_configure_schedule(t.optimizer, "{scheduler: LinearLR, initial_learning_rate: 0.5, "
                                        "end_learning_rate: 0.01, total_iters: 9}");
    t.scaler = scaler ? cse_grad_scaler_new(scaler) : NULL;
    ck_assert_msg(cse_session_status() == CSE_OK, "%s", cse_error_message());
    return t;
}

/* ---- the scaler's definition ---- */

typedef struct simulated {
    double scale, least, most, tolerance;
    int per_increase;
    int steps, overflows, skipped;
    bool exhausted;
} simulated;

/* Cerebras' GradScaler, step 4 to 6, in the words of its documentation. */
static void simulate(simulated *s, bool finite)
{
    if (!finite)
        s->skipped++;
    s->steps++;
    s->overflows += !finite;
    if ((float)s->overflows / (float)s->steps > (float)s->tolerance) {
        s->scale /= 2;
        s->steps = s->overflows = 0;
    }
    if (s->steps >= s->per_increase) {
        s->scale *= 2;
        s->steps = s->overflows = 0;
    }
    if (s->scale > s->most)
        s->scale = s->most;
    s->exhausted = s->scale < s->least;
    if (s->exhausted)
        s->scale = s->least;
}

static simulated draw_settings(uint32_t run, char *yaml, size_t size)
{
    static const double tolerances[] = { 0, 0.05, 0.3, 1 };
    simulated s = { .tolerance = tolerances[draw(run, 1) % 4],
                    .per_increase = 1 + (int)(draw(run, 2) % 6) };
    int least = (int)(draw(run, 3) % 12), most = least + (int)(draw(run, 4) % 8);
    s.least = ldexp(1, least - 6);
    s.most = ldexp(1, most - 6);
    s.scale = ldexp(1, least - 6 + (int)(draw(run, 5) % (uint32_t)(most - least + 1)));
    snprintf(yaml, size,
             "{loss_scale: dynamic, init_scale: %.17g, min_loss_scale: %.17g, max_loss_scale: "
             "%.17g, steps_per_increase: %d, overflow_tolerance: %g}",
             s.scale, s.least, s.most, s.per_increase, s.tolerance);
    return s;
}

START_TEST(the_scaler_follows_its_definition)
{
    static double features[MOST_STEPS * SIZE];
    const uint32_t run = (uint32_t)_i, rarity = 2 + run % 7;
    bool finite[MOST_STEPS];
    char yaml[512];
    table_file file;
    traced_run traced;
    simulated s = draw_settings(run, yaml, sizeof yaml);
    for (int k = 0; k < MOST_STEPS; k++) {
        finite[k] = draw(run, 100 + (uint32_t)k) % rarity != 0;
        /* Its square overflows whatever the scale. */
        features[k * SIZE] = finite[k] ? 0.5 : 3e38;
    }
    write_table(&file, features, MOST_STEPS);
    open_session_with(NULL);
    training t = open_training("SGD", "{}", yaml);
    traced_run_open(&traced, file.yaml, linear_step, &t);
    for (int k = 0; k < MOST_STEPS; k++) {
        traced_run_step(&traced);
        simulate(&s, finite[k]);
        ck_assert_msg((double)*traced_floats(&traced, "grad_scaler.loss_scale") == s.scale,
                      "%s: step %d: scale %g, not %g", yaml, k,
                      (double)*traced_floats(&traced, "grad_scaler.loss_scale"), s.scale);
        ck_assert_int_eq(traced_int(&traced, "grad_scaler.steps_since_rescale"), s.steps);
        ck_assert_int_eq(traced_int(&traced, "grad_scaler.overflows_since_rescale"), s.overflows);
        ck_assert_int_eq(traced_int(&traced, "grad_scaler.num_skipped_steps"), s.skipped);
        ck_assert_int_eq(traced_int(&traced, "schedulers.0.last_epoch"), k + 1 - s.skipped);
        const cse_fetch_entry *fetch = &traced.step->graph->fetches[traced.step->exhausted_fetch];
        const void *exhausted = traced.run.spaces[CSE_SPACE_FETCH] + fetch->offset_bytes;
        ck_assert_int_eq(*(const int32_t *)exhausted, s.exhausted);
    }
    traced_run_close(&traced);
    cse_finish();
    table_file_remove(&file);
}
END_TEST

START_TEST(first_and_greatest_scale_go_by_the_format)
{
    static const struct {
        const char *precision;
        float scale;
    } rows[] = { { NULL, 0x1p15f },
                 { "{fp16_type: float16}", 0x1p15f },
                 { "{fp16_type: cbfloat16}", 0x1p31f } };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        float scale = 0;
        open_session_with(rows[i].precision);
        open_training("SGD", "{}", "{loss_scale: dynamic}");
        cse_session *session = cse_session_open_view("test");
        for (int s = 0; s < session->network.state_count; s++)
            if (strcmp(session->network.states[s]->name, "grad_scaler.loss_scale") == 0)
                ck_assert_int_eq(cse_state_get(session->network.states[s], &scale, sizeof scale),
                                 CSE_OK);
        ck_assert_float_eq(scale, rows[i].scale);
        cse_finish();
    }
}
END_TEST

/* ---- a planted overflow ---- */

enum { STEPS = 10, PLANTED = 4 };

/* What a run leaves in every state but the scaler's, in the order of names. */
typedef struct remains {
    int count;
    char names[32][64];
    float values[32][SIZE];
} remains;

static void collect(const traced_run *traced, remains *r)
{
    const cse_graph *graph = traced->step->graph;
    memset(r, 0, sizeof *r);
    for (int s = 0; s < graph->state_count; s++) {
        const cse_state_entry *state = &graph->states[s];
        if (strncmp(state->name, "grad_scaler.", 12) == 0)
            continue;
        ck_assert_int_lt(r->count, 32);
        snprintf(r->names[r->count], sizeof r->names[0], "%s", state->name);
        memcpy(r->values[r->count++], traced_floats(traced, state->name),
               (size_t)cse_shape_elements(state->shape) * 4);
    }
}

/* Trains on STEPS rows; with `planted` one more, which overflows, stands before row PLANTED. */
static void train(const char *optimizer, const char *scaler, bool planted, remains *after)
{
    double features[(STEPS + 1) * SIZE];
    table_file file;
    traced_run traced;
    int rows = 0;
    for (int k = 0; k < STEPS; k++) {
        if (planted && k == PLANTED) {
            for (int i = 0; i < SIZE; i++)
                features[rows * SIZE + i] = i == 1 ? 3e38 : 1;
            rows++;
        }
        for (int i = 0; i < SIZE; i++)
            features[rows * SIZE + i] = (double)draw((uint32_t)k, (uint32_t)i) * 0x1p-31 - 1;
        rows++;
    }
    write_table(&file, features, rows);
    open_session_with(NULL);
    training t = open_training(optimizer, "{}", scaler);
    traced_run_open(&traced, file.yaml, linear_step, &t);
    for (int k = 0; k < rows; k++) {
        remains before, now;
        collect(&traced, &before);
        traced_run_step(&traced);
        collect(&traced, &now);
        bool skipped = planted && k == PLANTED;
        ck_assert_msg((memcmp(&before, &now, sizeof before) == 0) == skipped,
                      "%s: step %d: the states %s", optimizer, k, skipped ? "changed" : "stayed");
        if (planted)
            ck_assert_float_eq(*traced_floats(&traced, "grad_scaler.loss_scale"),
                               k < PLANTED ? 1024 : 512);
    }
    if (planted)
        ck_assert_int_eq(traced_int(&traced, "grad_scaler.num_skipped_steps"), 1);
    collect(&traced, after);
    traced_run_close(&traced);
    cse_finish();
    table_file_remove(&file);
}

/* Weights, the optimizer's states and the schedule go on as if the step had not been; and powers of
 * two change no bit of them, whether the scale is 1, 1024 or moves. */
START_TEST(an_overflow_leaves_no_trace)
{
    static remains plain, planted, scaled;
    for (int k = 0; cse_optimizers[k] != NULL; k++) {
        const char *name = cse_optimizers[k]->name;
        train(name, NULL, false, &plain);
        train(name, "{loss_scale: dynamic, init_scale: 1024}", true, &planted);
        train(name, "{loss_scale: 65536}", false, &scaled);
        ck_assert_msg(memcmp(&plain, &planted, sizeof plain) == 0, "%s: an overflow leaves traces",
                      name);
        ck_assert_msg(memcmp(&plain, &scaled, sizeof plain) == 0, "%s: a scale leaves traces",
                      name);
    }
}
END_TEST

/* ---- float16 ---- */

/* Half the mean squared distance to 3, times a number that leaves gradients below the format's
 * least subnormal value, 2^-24. */
static cse_tensor *small_loss_step(cse_step *step, void *self)
{
    const training *t = self;
    cse_tensor *error = cse_shift(cse_forward(t->model, cse_input(step, "images")), -3);
    cse_tensor *loss = cse_scale(cse_mean_all(cse_square(error)), 0.5 * t->multiplier);
    cse_optimizer_step(step, loss, t->optimizer, t->scaler, NULL);
    return loss;
}

/* The loss after 60 steps, relative to the first; whether the weights moved at all. */
static double train_float16(const char *precision, const char *scaler, bool *moved)
{
    double features[60 * SIZE];
    table_file file;
    traced_run traced;
    float first = 0, last = 0;
    for (int i = 0; i < 60 * SIZE; i++)
        features[i] = i % SIZE == 0 ? 4 : (double)draw(7, (uint32_t)i) * 0x1p-32 - 0.5;
    write_table(&file, features, 60);
    open_session_with(precision);
    training t = { .model = cse_compile(cse_model_define(&vector, NULL)), .multiplier = 1e-8 };
    t.optimizer = cse_configure_optimizer("SGD", t.model, "{}");
    cse_configure_schedule(t.optimizer, "1e6");
    t.scaler = scaler ? cse_grad_scaler_new(scaler) : NULL;
    traced_run_open(&traced, file.yaml, small_loss_step, &t);
    for (int k = 0; k < 60; k++) {
        traced_run_step(&traced);
        last = straight_run_fetched(&traced.run, traced.step->loss_fetch);
        first = k == 0 ? last : first;
    }
    const float *w = traced_floats(&traced, "model.w");
    *moved = w[0] != 1 || w[1] != 1 || w[2] != 1;
    traced_run_close(&traced);
    cse_finish();
    table_file_remove(&file);
    return (double)last / (double)first;
}

START_TEST(float16_needs_a_scale)
{
    bool moved;
    const char *float16 = "{fp16_type: float16, graphamp: {preset: mp1}}";
    ck_assert_double_lt(train_float16(NULL, NULL, &moved), 0.05);
    train_float16(float16, NULL, &moved);
    ck_assert(!moved);
    ck_assert_double_lt(train_float16(float16, "{loss_scale: dynamic}", &moved), 0.05);
    ck_assert(moved);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("loss_scaling");
    TCase *cases = tcase_create("loss_scaling");
    tcase_set_timeout(cases, 60);
    tcase_add_loop_test(cases, the_scaler_follows_its_definition, 0, 24);
    tcase_add_test(cases, first_and_greatest_scale_go_by_the_format);
    tcase_add_test(cases, an_overflow_leaves_no_trace);
    tcase_add_test(cases, float16_needs_a_scale);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* A loss that is a quotient of sums over the global batch: the same value, gradients and metrics
 * however the batch is cut into microbatches, where tokens that count are spread unevenly; with and
 * without loss scaling. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "csengine/csengine.h"
#include "csengine/modules.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/traced_run.h"

enum { STEPS = 3, TIME = 6, BATCH = 8, VOCAB = 128, WIDTH = 8 };

static char folder[64];

static const char text[] = "eeeeee eeeeee aeeeee bcdfgh jklmno peeeee eeeeqr stuvwx yzeeee eabcde "
                           "feeeee ghijkl meeeen opqrst eeeeee uvwxyz eabcee deeeee fghijk lmnopq ";

typedef struct training {
    cse_model *model;
    cse_optimizer *optimizer;
    cse_grad_scaler *scaler;
    bool by_microbatch; /* the mean of each microbatch's quotient */
} training;

/* Every letter but e counts. */
static cse_tensor *training_step(cse_step *step, void *self)
{
    training *t = self;
    cse_tensor *labels = cse_input(step, "labels");
    cse_tensor *logits = cse_forward(t->model, cse_input(step, "input_ids"));
    cse_tensor *mask = cse_not_equal(labels, cse_constant_int('e'));
    cse_tensor *loss = cse_lm_loss(logits, labels, mask, NULL);
    if (t->by_microbatch)
        loss = cse_div(cse_scale(loss, 1), cse_mean_all(cse_cast(mask, CSE_FLOAT32)));
    cse_optimizer_step(step, loss, t->optimizer, t->scaler, &(cse_clip){ .max_norm = 1 });
    cse_step_output(step, "again", cse_batch_mean(loss));
    return loss;
}

typedef struct outcome {
    double losses[STEPS], again[STEPS];
    float weights[VOCAB * WIDTH];
} outcome;

static void train(int micro_batch, bool by_microbatch, const char *scale, outcome *result)
{
    char yaml[512];
    traced_run traced;
    training t = { .by_microbatch = by_microbatch };
    open_session();
    t.model = cse_compile(cse_model_new(
        "layers", "{input_shape: [6], layers: [{embedding: {rows: 128, size: 8}}, "
                  "{linear: {out: 128, bias: false, name: head, initializer: {name: normal}}}]}"));
    t.optimizer = cse_configure_optimizer("SGD", t.model, "{lr: 1.0}");
    t.scaler = scale != NULL ? cse_grad_scaler_new(scale) : NULL;
    snprintf(yaml, sizeof yaml,
             "{data_processor: text_bytes, path: %s/text, sequence_length: %d, batch_size: %d, "
             "micro_batch_size: %d}",
             folder, TIME, BATCH, micro_batch);
    traced_run_open(&traced, yaml, training_step, &t);
    for (int step = 0; step < STEPS; step++) {
        traced_run_step(&traced);
        result->losses[step] = (double)straight_run_fetched(&traced.run, traced.step->loss_fetch);
        for (int f = 0; f < traced.step->graph->fetch_count; f++)
            if (strcmp(traced.step->graph->fetches[f].name, "again") == 0)
                result->again[step] = (double)straight_run_fetched(&traced.run, f);
    }
    memcpy(result->weights, traced_floats(&traced, "model.head.weight"), sizeof result->weights);
    traced_run_close(&traced);
    cse_finish();
}

static double farthest(const outcome *a, const outcome *b)
{
    double worst = 0;
    for (int i = 0; i < STEPS; i++)
        worst = fmax(worst, fabs(a->losses[i] - b->losses[i]));
    for (int i = 0; i < VOCAB * WIDTH; i++)
        worst = fmax(worst, fabs((double)a->weights[i] - (double)b->weights[i]));
    return worst;
}

START_TEST(the_cut_does_not_matter)
{
    static outcome whole, cut, scaled, other;
    train(BATCH, false, NULL, &whole);
    for (int micro_batch = 1; micro_batch < BATCH; micro_batch *= 2) {
        train(micro_batch, false, NULL, &cut);
        train(micro_batch, false, "{loss_scale: dynamic, init_scale: 1024}", &scaled);
        ck_assert_double_le(farthest(&whole, &cut), 2e-6);
        ck_assert_double_le(farthest(&whole, &scaled), 2e-6);
        for (int i = 0; i < STEPS; i++)
            ck_assert_double_eq(cut.again[i], cut.losses[i]);
    }
    train(4, true, NULL, &other);
    ck_assert_double_ge(farthest(&whole, &other), 1e-3);
}
END_TEST

int main(void)
{
    char path[96];
    snprintf(folder, sizeof folder, "/tmp/cse_quotient_XXXXXX");
    if (mkdtemp(folder) == NULL)
        return 1;
    snprintf(path, sizeof path, "%s/text", folder);
    FILE *file = fopen(path, "w");
    if (file == NULL || fputs(text, file) < 0 || fclose(file) != 0)
        return 1;
    Suite *suite = suite_create("loss quotient");
    TCase *cases = tcase_create("all");
    tcase_add_test(cases, the_cut_does_not_matter);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    temporary_folder_remove(folder);
    return failed == 0 ? 0 : 1;
}

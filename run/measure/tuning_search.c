/* One trace of the training step gives the layers; each trial trains in a child process. */
#include "run/measure/precision_tuning.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"
#include "engine/graph/precision/graphamp.h"
#include "engine/graph/precision/search.h"
#include "run/job/job_settings.h"
#include "run/measure/precision_section.h"
#include "run/measure/variants.h"

typedef struct search {
    const cse_tuning_options *options;
    cse_tuning *tuning;
    cse_variants *variants;
    int most_left; /* trials */
} search;

/* ---- layers ---- */

static void add_layer(cse_tuning *t, const char *scope)
{
    for (int i = 0; i < t->layer_count; i++)
        if (strcmp(t->layers[i], scope) == 0)
            return;
    CSE_GROW(t->layers, t->layer_count, t->layer_capacity);
    t->layers[t->layer_count++] = cse_arena_string(t->arena, scope);
}

static void find_layers(void *self, const cse_pass *pass, const cse_graph *graph)
{
    if (strcmp(pass->name, "precision") != 0)
        return;
    for (int n = 0; n < graph->node_count; n++) {
        const cse_node *node = graph->nodes[n];
        if (!node->backward && node->scope[0] != '\0' && node->op->precision == CSE_FAMILY_PRODUCT)
            add_layer(self, node->scope);
    }
}

static cse_status trace_layers(const cse_tuning_options *options, cse_tuning *t)
{
    cse_passes_options passes = { .after = find_layers, .self = t };
    cse_job_settings job = *options->job;
    cse_job_result result = { 0 };
    job.mode = CSE_JOB_COMPILE;
    job.val_dataloader = NULL;
    job.config = NULL; /* what this trace alone does not read is no fault of the configuration */
    job.session.validate_only = true;
    cse_job_environment environment = cse_job_environment_of(&job);
    environment.passes = &passes;
    CSE_TRY(cse_job_run(&environment, &result));
    if (t->layer_count > 0)
        return CSE_OK;
    return cse_fail(CSE_CONFIG,
                    "tune-precision: %s: the model has no matrix product inside a scope; there is "
                    "nothing to choose",
                    options->config);
}

/* ---- trials ---- */

/* Trains with layers at `levels`, or with NULL in float32. */
static cse_status train(const search *s, const int *levels, cse_variant_result *result)
{
    cse_precision_setting settings[CSE_MOST_PRECISION_SETTINGS];
    char *overrides[CSE_MOST_PRECISION_SETTINGS + 1] = { NULL };
    int count = 0;
    if (levels != NULL)
        count = cse_precision_settings(s->options, s->tuning, levels, settings);
    for (int i = 0; i < count; i++) {
        cse_text text = { 0 };
        cse_text_add(&text, "precision.%s=%s", settings[i].path, settings[i].value.data);
        overrides[i] = text.data;
        cse_text_clear(&settings[i].value);
    }
    static const char *const float32[] = { "precision.enabled=false", NULL };
    cse_status status = cse_variants_run(
        s->variants, levels != NULL ? (const char *const *)overrides : float32, result);
    for (int i = 0; i < count; i++)
        free(overrides[i]);
    return status;
}

static cse_status train_float32(const search *s, double *loss)
{
    cse_variant_result result;
    cse_status status = train(s, NULL, &result);
    *loss = cse_variant_final_loss(&result);
    if (status == CSE_OK && !isfinite(*loss))
        status = cse_fail(CSE_FAILED,
                          "tune-precision: the training in float32, which all else is compared "
                          "with, did not reach its end: %s",
                          result.message[0] != '\0' ? result.message : "its loss is no number");
    cse_variant_result_clear(&result);
    return status;
}

static cse_status judge(void *self, const int *levels, bool *within)
{
    const search *s = self;
    cse_tuning *t = s->tuning;
    cse_variant_result result;
    cse_tuning_trial trial = { .number = t->trial_count + 1 };
    CSE_TRY(train(s, levels, &result));
    trial.loss = cse_variant_final_loss(&result);
    trial.seconds = result.seconds;
    trial.most_left = s->most_left;
    cse_variant_result_clear(&result);
    trial.change = (trial.loss - t->loss_float32) / fabs(t->loss_float32);
    trial.accepted = isfinite(trial.loss) && fabs(trial.change) <= s->options->tolerance;
    for (int i = 0; i < t->layer_count; i++)
        trial.layers[levels[i]]++;
    if (trial.accepted)
        t->loss = trial.loss;
    CSE_GROW(t->trials, t->trial_count, t->trial_capacity);
    t->trials[t->trial_count++] = trial;
    s->options->on_trial(s->options->self, &trial);
    *within = trial.accepted;
    return CSE_OK;
}

cse_status cse_tuning_run(const cse_tuning_options *options, cse_tuning *t)
{
    search s = { .options = options, .tuning = t };
    const cse_variants_options variants = { .config = options->config,
                                            .settings = options->settings,
                                            .steps = options->steps,
                                            .self = options->self,
                                            .on_step = options->on_step };
    t->arena = cse_arena_new();
    CSE_TRY(trace_layers(options, t));
    t->levels = cse_calloc((size_t)t->layer_count, sizeof *t->levels);
    CSE_TRY(cse_variants_new(&variants, &s.variants));
    cse_status status = train_float32(&s, &t->loss_float32);
    t->loss = t->loss_float32;
    if (status == CSE_OK) {
        options->on_start(options->self, t->layer_count, t->loss_float32);
        status = cse_precision_search_run(&(cse_precision_search){ .layer_count = t->layer_count,
                                                                   .level_count = CSE_TUNING_LEVELS,
                                                                   .judge = judge,
                                                                   .self = &s,
                                                                   .most_left = &s.most_left },
                                          t->levels);
    }
    cse_variants_destroy(&s.variants);
    return status;
}

void cse_tuning_clear(cse_tuning *t)
{
    free(t->layers);
    free(t->levels);
    free(t->trials);
    if (t->arena != NULL)
        cse_arena_destroy(&t->arena);
    *t = (cse_tuning){ 0 };
}

/* An optimizer takes a parameter where its own samples say, with one microbatch, with several, and
 * with a loss scale; a constant schedule of weight decay is the setting. */
#include <math.h>
#include <string.h>

#include "engine/base/config/settings.h"
#include "run/contracts/contract.h"
#include "run/contracts/prescribed_gradients.h"

enum { STEPS = 8 };

/* As csengine/optimizer.h defines them. */
static const double start[CSE_PRESCRIBED_ELEMENTS] = { 0.5, -1, 2, 0.25 };

static const double (*gradients(void))[CSE_PRESCRIBED_ELEMENTS]
{
    static double made[STEPS][CSE_PRESCRIBED_ELEMENTS];
    for (int t = 0; t < STEPS; t++)
        for (int i = 0; i < CSE_PRESCRIBED_ELEMENTS; i++)
            made[t][i] = round(sin(1.7 * t + i + 0.4) * (0.3 + 0.4 * i) * 1e4) / 1e4;
    return (const void *)made;
}

static cse_status check_row(const cse_optimizer_sample *sample, int row, int step, const float *w)
{
    double tolerance = sample->tolerance > 0 ? sample->tolerance : 1e-5;
    for (int i = 0; i < CSE_PRESCRIBED_ELEMENTS; i++)
        if (!(fabs((double)w[i] - sample->parameters[row][i]) < tolerance))
            return cse_fail(CSE_DATA,
                            "after %d steps element %d of the parameter is %.9g, expected %.9g "
                            "+-%.2g (%s)",
                            step, i, (double)w[i], sample->parameters[row][i], tolerance,
                            sample->source);
    return CSE_OK;
}

static cse_status run_steps(cse_prescribed_run *run, const cse_optimizer_sample *sample)
{
    static const int steps_of_row[CSE_OPTIMIZER_SAMPLE_ROWS] = { 1, 2, 4, STEPS };
    for (int step = 1, row = 0; step <= STEPS; step++) {
        CSE_TRY(cse_traced_run_step(&run->traced));
        if (step == steps_of_row[row])
            CSE_TRY(check_row(sample, row++, step, run->w));
    }
    return CSE_OK;
}

static cse_status meet(const char *name, const cse_optimizer_sample *sample, int microbatches,
                       const char *scaler)
{
    cse_prescribed_run run;
    cse_prescribed_gradients given = { .gradients = gradients(),
                                       .steps = STEPS,
                                       .microbatches = microbatches,
                                       .optimizer = name,
                                       .settings = sample->settings,
                                       .matrix = sample->matrix,
                                       .scaler = scaler };
    memcpy(given.start, start, sizeof start);
    if (sample->source == NULL)
        return cse_fail(CSE_DATA, "the sample does not say what computed its values (source)");
    cse_status status = cse_prescribed_run_open(&run, &given);
    if (status == CSE_OK)
        status = run_steps(&run, sample);
    cse_prescribed_run_close(&run);
    return status;
}

static cse_status refuse(const char *name, const cse_optimizer_sample *sample)
{
    cse_model *model;
    cse_status status = cse_prescribed_optimizer(name, sample->settings, false, &model) != NULL
                            ? CSE_OK
                            : cse_session_status();
    status = cse_contract_refused(status, sample->refusal);
    cse_finish();
    return status;
}

/* ---- weight decay and momentum by a schedule ---- */

static cse_status train(const char *name, const char *settings, const char *schedule,
                        float after[CSE_PRESCRIBED_ELEMENTS])
{
    cse_prescribed_run run;
    cse_prescribed_gradients given = { .gradients = gradients(),
                                       .steps = STEPS,
                                       .optimizer = name,
                                       .settings = settings,
                                       .schedule = schedule };
    memcpy(given.start, start, sizeof start);
    cse_status status = cse_prescribed_run_open(&run, &given);
    for (int step = 0; step < STEPS && status == CSE_OK; step++)
        status = cse_traced_run_step(&run.traced);
    if (status == CSE_OK)
        memcpy(after, run.w, CSE_PRESCRIBED_ELEMENTS * sizeof *after);
    cse_prescribed_run_close(&run);
    return status;
}

static cse_status decay_by_schedule(const char *name)
{
    float by_setting[CSE_PRESCRIBED_ELEMENTS], other[CSE_PRESCRIBED_ELEMENTS];
    CSE_TRY(train(name, "{weight_decay: 0.25}", "0.125", by_setting));
    CSE_TRY(train(name, "{}", "[0.125, {ConstantWD: {val: 0.25}}]", other));
    if (memcmp(by_setting, other, sizeof by_setting) != 0)
        return cse_fail(CSE_DATA, "the schedule ConstantWD gives another parameter than the "
                                  "setting: use u->weight_decay where it is not NULL");
    CSE_TRY(train(name, "{}", "0.125", other));
    return memcmp(by_setting, other, sizeof by_setting) != 0
               ? CSE_OK
               : cse_fail(CSE_DATA, "the setting weight_decay changes nothing");
}

/* The setting is there for the buffer; a half, since sums and products with it are exact. */
static cse_status momentum_by_schedule(const char *name)
{
    float by_setting[CSE_PRESCRIBED_ELEMENTS], other[CSE_PRESCRIBED_ELEMENTS];
    CSE_TRY(train(name, "{momentum: 0.5}", "0.125", by_setting));
    CSE_TRY(train(name, "{momentum: 0.25}", "[0.125, {ConstantMomentum: {val: 0.5}}]", other));
    return memcmp(by_setting, other, sizeof by_setting) == 0
               ? CSE_OK
               : cse_fail(CSE_DATA, "the schedule ConstantMomentum gives another parameter than "
                                    "the setting: use u->momentum where it is not NULL");
}

/* ---- the descriptor ---- */

static cse_status check_states(const cse_optimizer_descriptor *d, const cse_settings *settings)
{
    cse_declared_state states[CSE_MAX_DECLARED_STATES];
    for (cse_shape shape = { .rank = 0 };; shape.dims[shape.rank++] = 2) {
        memset(states, 0, sizeof states);
        int count = d->states(settings, shape, states);
        if (count < 0 || count > CSE_MAX_DECLARED_STATES)
            return cse_fail(CSE_DATA, "states returns %d: accepted are 0 to %d", count,
                            CSE_MAX_DECLARED_STATES);
        for (int i = 0; i < count; i++)
            if (states[i].name == NULL || states[i].without_axes >> shape.rank != 0)
                return cse_fail(CSE_DATA,
                                "state %d of a parameter of rank %d has no name, or lacks an axis "
                                "that the parameter has not",
                                i, shape.rank);
        if (shape.rank == CSE_MAX_RANK)
            return CSE_OK;
    }
}

static cse_status check_descriptor(const cse_optimizer_descriptor *d,
                                   const cse_optimizer_sample *samples)
{
    cse_settings *settings = NULL;
    bool values = false;
    if (d->summary == NULL || d->summary[0] == '\0')
        return cse_fail(CSE_DATA, "it has no summary");
    CSE_TRY(cse_contract_settings(d->settings, d->name));
    if (!cse_setting_table_has(d->settings, "lr") ||
        !cse_setting_table_has(d->settings, "learning_rate"))
        return cse_fail(CSE_DATA, "its settings must begin with CSE_LEARNING_RATE_SETTINGS");
    CSE_TRY(cse_settings_parse(d->settings, d->name, NULL, &settings));
    cse_status status = check_states(d, settings);
    if (status == CSE_OK &&
        (cse_settings_has(settings, "lr") || cse_settings_has(settings, "learning_rate")))
        status = cse_fail(CSE_DATA, "lr must be null by default: default_learning_rate says more");
    cse_settings_destroy(&settings);
    for (const cse_optimizer_sample *s = samples; s != NULL && s->settings != NULL; s++)
        values = values || s->refusal == NULL;
    return status != CSE_OK || values ? status : cse_fail(CSE_DATA, "it has no sample with values");
}

void cse_contract_of_optimizer(cse_contract *contract, const void *descriptor)
{
    const cse_optimizer_descriptor *d = descriptor;
    const cse_optimizer_sample *samples = cse_contract_samples(contract, d, d->samples);
    cse_contract_tell(contract, check_descriptor(d, samples), "is complete");
    for (const cse_optimizer_sample *s = samples; s != NULL && s->settings != NULL; s++) {
        if (s->refusal != NULL) {
            cse_contract_tell(contract, refuse(d->name, s), "refuses %s", s->settings);
            continue;
        }
        cse_contract_tell(contract, meet(d->name, s, 1, NULL), "meets the values of %s",
                          s->settings);
        cse_contract_tell(contract, meet(d->name, s, 3, NULL),
                          "meets them by the mean of three microbatches: %s", s->settings);
        /* Multiplication and division by a power of two are exact. */
        cse_contract_tell(contract, meet(d->name, s, 1, "{loss_scale: 1024}"),
                          "meets them with a loss scale: %s", s->settings);
    }
    if (cse_setting_table_has(d->settings, "weight_decay"))
        cse_contract_tell(contract, decay_by_schedule(d->name),
                          "takes its weight decay from a schedule");
    if (cse_setting_table_has(d->settings, "momentum"))
        cse_contract_tell(contract, momentum_by_schedule(d->name),
                          "takes its momentum from a schedule");
}

/* A schedule gives the learning rates of its own samples, at any step, in any order. */
#include <math.h>
#include <stdio.h>

#include "run/contracts/contract.h"
#include "run/contracts/traced_run.h"

enum { TEXT_BYTES = 1024 };

static const char data[] = "{data_processor: synthetic, samples: 8, features: [2], classes: 2, "
                           "batch_size: 1}";

/* The learning rate as a fetched value; the step number is left for the check to set. */
static cse_tensor *step_function(cse_step *step, void *self)
{
    const cse_schedule *schedule = self;
    cse_tensor *t = cse_read(schedule->last_epoch);
    cse_tensor *rate = cse_schedule_part_rate(schedule->part, t);
    cse_assign(schedule->last_epoch, cse_add(t, cse_constant_int(1)));
    cse_step_fetch(step, "rate", rate);
    return NULL;
}

static cse_status make(const char *name, const char *settings, cse_schedule **schedule)
{
    char text[TEXT_BYTES];
    snprintf(text, sizeof text, "{%s: %s}", name, settings);
    CSE_TRY(cse_traced_session());
    cse_model *model = cse_compile(cse_model_new("fc_mnist", "{hidden_sizes: [2], input_size: 2}"));
    *schedule = cse_configure_schedule(cse_configure_optimizer("SGD", model, NULL), text);
    return cse_session_status();
}

static cse_status check_point(cse_traced_run *traced, int32_t *t, const cse_schedule_sample *sample,
                              int i)
{
    const double tolerance = sample->tolerance > 0 ? sample->tolerance : 2e-7;
    const double expected = sample->points[i].learning_rate;
    for (int other = 0; other < i; other++)
        if (sample->points[other].t == sample->points[i].t)
            return cse_fail(CSE_DATA, "t = %d is given twice", sample->points[i].t);
    *t = sample->points[i].t;
    CSE_TRY(cse_traced_run_step(traced));
    const double rate = (double)cse_straight_run_fetched(&traced->run, 0);
    return fabs(rate - expected) < tolerance && *t == sample->points[i].t + 1
               ? CSE_OK
               : cse_fail(CSE_DATA, "at t = %d it is %.9g, expected %.9g +-%.2g (%s)",
                          sample->points[i].t, rate, expected, tolerance, sample->source);
}

static cse_status meet(const char *name, const cse_schedule_sample *sample)
{
    cse_schedule *schedule = NULL;
    cse_traced_run traced = { .loader = NULL };
    if (sample->source == NULL)
        return cse_fail(CSE_DATA, "the sample does not say what computed its values (source)");
    cse_status status = make(name, sample->settings, &schedule);
    if (status == CSE_OK)
        status = cse_traced_run_open(&traced, data, step_function, schedule);
    int32_t *t =
        status == CSE_OK ? cse_straight_run_state(&traced.run, "schedulers.0.last_epoch") : NULL;
    for (int i = 0; i < CSE_SCHEDULE_SAMPLE_POINTS && status == CSE_OK; i++)
        status = check_point(&traced, t, sample, i);
    cse_traced_run_close(&traced);
    cse_finish();
    return status;
}

static cse_status refuse(const char *name, const cse_schedule_sample *sample)
{
    cse_schedule *schedule = NULL;
    cse_status status =
        cse_contract_refused(make(name, sample->settings, &schedule), sample->refusal);
    cse_finish();
    return status;
}

static cse_status check_descriptor(const cse_schedule_descriptor *d,
                                   const cse_schedule_sample *samples)
{
    bool values = false;
    if (d->summary == NULL || d->summary[0] == '\0')
        return cse_fail(CSE_DATA, "it has no summary");
    CSE_TRY(cse_contract_settings(d->settings, d->name));
    for (const cse_schedule_sample *s = samples; s != NULL && s->settings != NULL; s++)
        values = values || s->refusal == NULL;
    return values ? CSE_OK : cse_fail(CSE_DATA, "it has no sample with values");
}

void cse_contract_of_schedule(cse_contract *contract, const void *descriptor)
{
    const cse_schedule_descriptor *d = descriptor;
    const cse_schedule_sample *samples = cse_contract_samples(contract, d, d->samples);
    cse_contract_tell(contract, check_descriptor(d, samples), "is complete");
    for (const cse_schedule_sample *s = samples; s != NULL && s->settings != NULL; s++)
        if (s->refusal != NULL)
            cse_contract_tell(contract, refuse(d->name, s), "refuses %s", s->settings);
        else
            cse_contract_tell(contract, meet(d->name, s), "meets the values of %s", s->settings);
}

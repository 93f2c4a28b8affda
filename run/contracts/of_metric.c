/* A metric has the values of its own samples after each batch, whatever the size of a
 * microbatch. */
#include <math.h>
#include <string.h>

#include "run/contracts/contract.h"
#include "run/contracts/traced_run.h"

enum {
    BATCHES = CSE_METRIC_SAMPLE_BATCHES,
    BATCH = CSE_METRIC_SAMPLE_ROWS,
    ROWS = BATCHES * BATCH,
    MOST_COLUMNS = CSE_MAX_METRIC_ARGUMENTS * CSE_METRIC_SAMPLE_COLUMNS
};

typedef struct sampled {
    const cse_metric_sample *sample;
    cse_metric *metric;
} sampled;

static int columns_of(const cse_metric_sample *sample, int argument)
{
    int columns = sample->arguments[argument].columns;
    return columns > 0 ? columns : 1;
}

/* The arguments side by side in one table. */
static cse_status write_table(cse_table_file *file, const cse_metric_sample *sample,
                              int micro_batch_size)
{
    double features[ROWS * MOST_COLUMNS];
    int columns = 0, next = 0;
    for (int a = 0; a < sample->argument_count; a++)
        columns += columns_of(sample, a);
    for (int row = 0; row < ROWS; row++)
        for (int a = 0; a < sample->argument_count; a++)
            for (int c = 0; c < columns_of(sample, a); c++)
                features[next++] = sample->arguments[a].values[row * columns_of(sample, a) + c];
    return cse_table_file_write(file, &(cse_table_content){ .features = features,
                                                            .rows = ROWS,
                                                            .columns = columns,
                                                            .classes = 1,
                                                            .batch_size = BATCH,
                                                            .micro_batch_size = micro_batch_size });
}

static cse_tensor *step_function(cse_step *step, void *self)
{
    const sampled *at = self;
    cse_tensor *table = cse_input(step, "images"), *arguments[CSE_MAX_METRIC_ARGUMENTS] = { 0 };
    const int last_axis = -1;
    for (int a = 0, first = 0; a < at->sample->argument_count; a++) {
        int columns = columns_of(at->sample, a);
        cse_tensor *part = cse_slice_axis(table, -1, first, first + columns);
        if (at->sample->arguments[a].columns == 0)
            part = cse_sum(part, &last_axis, 1, false);
        arguments[a] = cse_cast(part, at->sample->arguments[a].dtype);
        first += columns;
    }
    /* The list of arguments ends at the first NULL. */
    cse_metric_update(at->metric, arguments[0], arguments[1], arguments[2], arguments[3]);
    return NULL;
}

static cse_status run_batches(cse_traced_run *traced, const cse_metric_sample *sample)
{
    const double tolerance = sample->tolerance > 0 ? sample->tolerance : 1e-5;
    const float *value = cse_straight_run_state(&traced->run, "metrics.sampled.value");
    const int32_t *updates = cse_straight_run_state(&traced->run, "metrics.sampled.updates");
    for (int s = 0; s < BATCHES; s++) {
        CSE_TRY(cse_traced_run_step(traced));
        if (!(fabs((double)*value - sample->values[s]) < tolerance) || *updates != s + 1)
            return cse_fail(CSE_DATA, "after batch %d it is %.9g, expected %.9g +-%.2g (%s)", s,
                            (double)*value, sample->values[s], tolerance, sample->source);
    }
    return CSE_OK;
}

static cse_status meet(const char *name, const cse_metric_sample *sample, int micro_batch_size)
{
    cse_table_file file;
    cse_traced_run traced = { .loader = NULL };
    sampled at = { .sample = sample };
    if (sample->source == NULL)
        return cse_fail(CSE_DATA, "the sample does not say what computed its values (source)");
    CSE_TRY(write_table(&file, sample, micro_batch_size));
    cse_status status = cse_traced_session();
    if (status == CSE_OK) {
        at.metric = cse_configure_metric(name, "sampled", sample->settings);
        status = cse_traced_run_open(&traced, file.yaml, step_function, &at);
    }
    if (status == CSE_OK)
        status = run_batches(&traced, sample);
    cse_traced_run_close(&traced);
    cse_finish();
    cse_table_file_remove(&file);
    return status;
}

static cse_status refuse(const char *name, const cse_metric_sample *sample)
{
    CSE_TRY(cse_traced_session());
    cse_configure_metric(name, "a", sample->settings);
    cse_status status = cse_contract_refused(cse_session_status(), sample->refusal);
    cse_finish();
    return status;
}

static cse_status check_descriptor(const cse_metric_descriptor *d, const cse_metric_sample *samples)
{
    bool least = false, most = false;
    if (d->summary == NULL || d->summary[0] == '\0')
        return cse_fail(CSE_DATA, "it has no summary");
    CSE_TRY(cse_contract_settings(d->settings, d->name));
    if (d->min_arguments < 1 || d->max_arguments < d->min_arguments ||
        d->max_arguments > CSE_MAX_METRIC_ARGUMENTS)
        return cse_fail(CSE_DATA, "min_arguments and max_arguments must be 1 to %d",
                        CSE_MAX_METRIC_ARGUMENTS);
    if (d->state_count < 0 || d->state_count > CSE_MAX_DECLARED_STATES)
        return cse_fail(CSE_DATA, "state_count must be at most %d", CSE_MAX_DECLARED_STATES);
    for (int i = 0; i < d->state_count; i++)
        if (d->states[i].name == NULL || (!d->states[i].scalar && d->length_setting == NULL))
            return cse_fail(CSE_DATA, "state %d has no name, or no length_setting says its length",
                            i);
    for (const cse_metric_sample *s = samples; s != NULL && s->name != NULL; s++) {
        least = least || (s->refusal == NULL && s->argument_count == d->min_arguments);
        most = most || (s->refusal == NULL && s->argument_count == d->max_arguments);
    }
    return least && most ? CSE_OK
                         : cse_fail(CSE_DATA, "it has no sample with %d and with %d arguments",
                                    d->min_arguments, d->max_arguments);
}

void cse_contract_of_metric(cse_contract *contract, const void *descriptor)
{
    const cse_metric_descriptor *d = descriptor;
    const cse_metric_sample *samples = cse_contract_samples(contract, d, d->samples);
    cse_contract_tell(contract, check_descriptor(d, samples), "is complete");
    for (const cse_metric_sample *s = samples; s != NULL && s->name != NULL; s++) {
        if (s->refusal != NULL)
            cse_contract_tell(contract, refuse(d->name, s), "refuses %s", s->settings);
        for (int size = BATCH; size >= 1 && s->refusal == NULL; size /= 2)
            cse_contract_tell(contract, meet(d->name, s, size),
                              "meets the values of \"%s\" in microbatches of %d", s->name, size);
    }
}

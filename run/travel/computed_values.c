/* Runs of values come in the order in which workers computed them, from several files. */
#include "run/travel/computed_values.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/types/shape.h"
#include "engine/code/execute/value_log.h"
#include "engine/formats/weights/element.h"
#include "run/travel/replay.h"
#include "run/travel/sample_rows.h"

/* The values of one tensor: of each microbatch, or of the step. */
typedef struct gathered {
    float *of_batch, *of_step;
    bool *has;             /* by microbatch */
    int64_t step_elements; /* of_step has so many of them */
} gathered;

struct cse_computed_values {
    int64_t step;
    cse_graph *graph;
    gathered *tensors; /* by graph->tracked */
    bool *rows;        /* by node, in its `scratch`: has rows for samples */
    cse_step_samples samples;
};

static int64_t elements_of(const cse_computed_values *c, int t)
{
    return cse_shape_elements(c->graph->tracked[t].node->shape);
}

/* ---- reading ---- */

/* Narrow values of a loop come as they were before rounding. */
static void round_values(const cse_tracked_tensor *row, float *values, int64_t count)
{
    const cse_dtype dtype = row->node->dtype;
    if (row->scratch_offset < 0 || dtype == CSE_FLOAT32)
        return;
    const cse_element element = cse_element_of_dtype(dtype);
    uint16_t *narrow = cse_malloc(((size_t)count + 1) * sizeof *narrow);
    cse_element_convert(CSE_ELEMENT_F32, values, element, narrow, (size_t)count);
    cse_element_convert(element, narrow, CSE_ELEMENT_F32, values, (size_t)count);
    free(narrow);
}

static cse_status take_run(void *self, const cse_value_run *run)
{
    cse_computed_values *c = self;
    const cse_graph *graph = c->graph;
    if (run->step != c->step)
        return CSE_OK;
    if (run->tensor < 0 || run->tensor >= graph->tracked_count ||
        run->microbatch < CSE_VALUES_OF_STEP || run->microbatch >= graph->microbatch_count)
        return cse_fail(CSE_DATA, "values of a tensor that the step does not have");
    const int t = (int)run->tensor;
    const int64_t elements = elements_of(c, t);
    gathered *to = &c->tensors[t];
    if (run->first + run->count > elements)
        return cse_fail(CSE_DATA, "more values than %s has", graph->tracked[t].name);
    float **room = run->microbatch < 0 ? &to->of_step : &to->of_batch;
    const int64_t parts = run->microbatch < 0 ? 1 : graph->microbatch_count;
    if (*room == NULL)
        *room = cse_calloc((size_t)(elements * parts) + 1, sizeof **room);
    if (to->has == NULL)
        to->has = cse_calloc((size_t)graph->microbatch_count, sizeof *to->has);
    float *at = *room + (run->microbatch < 0 ? 0 : run->microbatch * elements) + run->first;
    memcpy(at, run->values, (size_t)run->count * sizeof *at);
    round_values(&graph->tracked[t], at, run->count);
    if (run->microbatch < 0)
        to->step_elements += run->count;
    else
        to->has[run->microbatch] = true;
    return CSE_OK;
}

/* ---- samples ---- */

static cse_status absent_sample(const cse_computed_values *c, int64_t sample)
{
    cse_text some = { 0 };
    for (int64_t i = 0; i < c->samples.count && i < 8; i++)
        cse_text_add(&some, "%s%" PRId64, i > 0 ? ", " : "", c->samples.numbers[i]);
    cse_status status = cse_fail(
        CSE_NO_INPUT,
        "sample %" PRId64 " is not in the batch of step %" PRId64 ", which has the samples %s%s",
        sample, c->step, some.data != NULL ? some.data : "", c->samples.count > 8 ? ", ..." : "");
    cse_text_clear(&some);
    return status;
}

/* Its place in the batch; -1: none is asked for, or it is not there. */
static int64_t place_of(const cse_computed_values *c, int64_t sample)
{
    for (int64_t i = 0; sample >= 0 && i < c->samples.count; i++)
        if (c->samples.numbers[i] == sample)
            return i;
    return -1;
}

/* ---- tensors ---- */

/* The rows of the sample at that place of the batch. */
static void take_sample(const cse_computed_values *c, int t, int64_t place,
                        cse_checkpoint_tensor *tensor)
{
    const int64_t size = c->graph->micro_batch_size;
    if (!c->rows[c->graph->tracked[t].node->scratch] || c->tensors[t].of_batch == NULL)
        return;
    tensor->shape.dims[0] /= size;
    tensor->data = c->tensors[t].of_batch + place * (elements_of(c, t) / size);
}

/* Of all microbatches, one after the other. */
static void take_batch(const cse_computed_values *c, int t, cse_checkpoint_tensor *tensor)
{
    const int64_t parts = c->graph->microbatch_count;
    tensor->data = c->tensors[t].of_batch;
    if (c->rows[c->graph->tracked[t].node->scratch]) {
        tensor->shape.dims[0] *= parts;
    } else if (tensor->shape.rank < CSE_MAX_RANK) {
        memmove(tensor->shape.dims + 1, tensor->shape.dims,
                (size_t)tensor->shape.rank * sizeof *tensor->shape.dims);
        tensor->shape.dims[0] = parts;
        tensor->shape.rank++;
    }
}

/* What is asked for of one tensor; without data: nothing. */
static cse_checkpoint_tensor take(const cse_computed_values *c, int t, cse_computed_part part)
{
    const gathered *from = &c->tensors[t];
    cse_checkpoint_tensor tensor = { .name = c->graph->tracked[t].name,
                                     .dtype = CSE_FLOAT32,
                                     .shape = c->graph->tracked[t].node->shape };
    if (part.sample >= 0)
        take_sample(c, t, place_of(c, part.sample), &tensor);
    else if (part.microbatch >= 0 && from->of_batch != NULL)
        tensor.data = from->of_batch + part.microbatch * elements_of(c, t);
    else if (from->of_step != NULL)
        tensor.data = from->of_step;
    else if (from->of_batch != NULL)
        take_batch(c, t, &tensor);
    return tensor;
}

static cse_status check_whole(const cse_computed_values *c, int t)
{
    const gathered *from = &c->tensors[t];
    for (int m = 0; from->of_batch != NULL && m < c->graph->microbatch_count; m++)
        if (!from->has[m])
            return cse_fail(CSE_INTERNAL, "the replay left no values of %s in microbatch %d",
                            c->graph->tracked[t].name, m);
    return from->of_step == NULL || from->step_elements >= elements_of(c, t)
               ? CSE_OK
               : cse_fail(CSE_INTERNAL, "the replay left too few values of %s",
                          c->graph->tracked[t].name);
}

cse_status cse_computed_values_add(const cse_computed_values *c, cse_computed_part part,
                                   cse_tensor_view *view)
{
    if (part.microbatch >= c->graph->microbatch_count)
        return cse_fail(CSE_NO_INPUT, "microbatch %" PRId64 ": the step has %d, from 0",
                        part.microbatch, c->graph->microbatch_count);
    if (part.sample >= 0 && place_of(c, part.sample) < 0)
        return absent_sample(c, part.sample);
    for (int t = 0; t < c->graph->tracked_count; t++) {
        const cse_checkpoint_tensor tensor = take(c, t, part);
        if (tensor.data != NULL && c->graph->tracked[t].beside != CSE_BESIDE_DIFFERENCE)
            cse_tensor_view_add(view, &tensor);
    }
    if (view->count > 0 || part.sample < 0)
        return CSE_OK;
    return cse_fail(CSE_NO_INPUT,
                    "none of these tensors has rows for samples, only sums over them: "
                    "leave out --sample, or give --microbatch");
}

const cse_step_samples *cse_computed_values_samples(const cse_computed_values *c)
{
    return &c->samples;
}

int cse_computed_values_microbatches(const cse_computed_values *c)
{
    return c->graph->microbatch_count;
}

/* A difference that belongs to value `t`: the first after it in the same scope. */
static double difference_of(const cse_computed_values *c, int t)
{
    const char *scope = c->graph->tracked[t].node->scope;
    double largest = 0;
    for (int other = t + 1; other < c->graph->tracked_count; other++) {
        const cse_tracked_tensor *row = &c->graph->tracked[other];
        const float *values = c->tensors[other].of_batch;
        if (row->beside != CSE_BESIDE_DIFFERENCE || strcmp(row->node->scope, scope) != 0)
            continue;
        for (int m = 0; values != NULL && m < c->graph->microbatch_count; m++)
            largest = values[m] <= largest ? largest : values[m]; /* NaN is taken */
        return values != NULL ? largest : NAN;
    }
    return NAN;
}

bool cse_computed_values_facts(const cse_computed_values *c, const cse_checkpoint_tensor *tensor,
                               cse_computed_facts *facts)
{
    static const char *const roles[CSE_TRACKED_COUNT] = { "value", "cast", "gradient", "state" };
    for (int t = 0; t < c->graph->tracked_count; t++) {
        const cse_tracked_tensor *row = &c->graph->tracked[t];
        const bool there = c->tensors[t].of_batch != NULL || c->tensors[t].of_step != NULL;
        if (!there || strcmp(row->name, tensor->name) != 0)
            continue;
        const bool stacked = tensor->shape.rank > row->node->shape.rank;
        *facts = (cse_computed_facts){ .role = roles[row->kind],
                                       .op = row->op,
                                       .format = row->node->dtype,
                                       .backward = row->node->backward,
                                       .rows = c->rows[row->node->scratch] ? "samples"
                                               : stacked                   ? "microbatches"
                                                                           : "",
                                       .beside = row->beside == CSE_BESIDE_VALUE };
        if (facts->beside)
            facts->within = difference_of(c, t);
        return true;
    }
    return false;
}

/* ---- opening ---- */

cse_status cse_computed_values_open(const char *model_dir, int64_t step,
                                    cse_computed_values **values)
{
    cse_computed_values *c = *values = cse_calloc(1, sizeof *c);
    c->step = step;
    CSE_TRY(cse_replay_graph(model_dir, &c->graph));
    c->tensors = cse_calloc((size_t)c->graph->tracked_count + 1, sizeof *c->tensors);
    c->rows = cse_sample_rows(c->graph);
    CSE_TRY(cse_step_samples_read(model_dir, step, &c->samples));
    CSE_TRY(cse_value_logs_read(model_dir, take_run, c));
    for (int t = 0; t < c->graph->tracked_count; t++)
        CSE_TRY(check_whole(c, t));
    return CSE_OK;
}

void cse_computed_values_close(cse_computed_values **values)
{
    cse_computed_values *c = *values;
    if (c == NULL)
        return;
    for (int t = 0; c->tensors != NULL && t < c->graph->tracked_count; t++) {
        free(c->tensors[t].of_batch);
        free(c->tensors[t].of_step);
        free(c->tensors[t].has);
    }
    free(c->tensors);
    free(c->rows);
    cse_step_samples_clear(&c->samples);
    cse_graph_destroy(&c->graph);
    free(c);
    *values = NULL;
}

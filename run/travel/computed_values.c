/* Runs of values come in the order in which workers computed them, from several files. */
#include "run/travel/computed_values.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
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

typedef struct gathering {
    const cse_computed_question *question;
    cse_graph *graph;
    gathered *tensors; /* by graph->tracked */
    bool *rows;        /* by node, in its `scratch`: has rows for samples */
    int64_t place;     /* of the sample in the batch; -1: none is asked for */
} gathering;

static int64_t elements_of(const gathering *g, int t)
{
    return cse_shape_elements(g->graph->tracked[t].node->shape);
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
    gathering *g = self;
    const cse_graph *graph = g->graph;
    if (run->step != g->question->step)
        return CSE_OK;
    if (run->tensor < 0 || run->tensor >= graph->tracked_count ||
        run->microbatch < CSE_VALUES_OF_STEP || run->microbatch >= graph->microbatch_count)
        return cse_fail(CSE_DATA, "values of a tensor that the step does not have");
    const int t = (int)run->tensor;
    const int64_t elements = elements_of(g, t);
    gathered *to = &g->tensors[t];
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

static cse_status read_files(gathering *g)
{
    char path[PATH_MAX + 300];
    cse_status status = CSE_OK;
    snprintf(path, sizeof path, "%s/values", g->question->folder);
    DIR *folder = opendir(path);
    if (folder == NULL)
        return cse_fail(CSE_NO_INPUT, "%s: %s", path, strerror(errno));
    for (struct dirent *entry; status == CSE_OK && (entry = readdir(folder)) != NULL;) {
        if (strncmp(entry->d_name, "after-", 6) != 0)
            continue;
        snprintf(path, sizeof path, "%s/values/%s", g->question->folder, entry->d_name);
        status = cse_value_log_read(path, take_run, g);
    }
    closedir(folder);
    return status;
}

/* ---- samples ---- */

cse_status cse_step_samples_read(const char *folder, int64_t step, cse_step_samples *samples)
{
    char path[PATH_MAX + 64];
    snprintf(path, sizeof path, "%s/values/step-%" PRId64 ".json", folder, step);
    json_t *note = json_load_file(path, 0, NULL);
    const json_t *list = json_object_get(note, "samples");
    const size_t count = json_array_size(list);
    *samples = (cse_step_samples){
        .numbers = cse_calloc(count + 1, sizeof *samples->numbers),
        .count = (int64_t)count,
        .micro_batch_size = json_integer_value(json_object_get(note, "micro_batch_size")),
    };
    for (size_t i = 0; i < count; i++)
        samples->numbers[i] = json_integer_value(json_array_get(list, i));
    json_decref(note);
    if (samples->micro_batch_size > 0 && count % (size_t)samples->micro_batch_size == 0)
        return CSE_OK;
    free(samples->numbers);
    samples->numbers = NULL;
    return cse_fail(CSE_INTERNAL, "%s does not say which samples the step had", path);
}

static cse_status absent_sample(const gathering *g, const cse_step_samples *samples)
{
    cse_text some = { 0 };
    for (int64_t i = 0; i < samples->count && i < 8; i++)
        cse_text_add(&some, "%s%" PRId64, i > 0 ? ", " : "", samples->numbers[i]);
    cse_status status = cse_fail(
        CSE_NO_INPUT,
        "sample %" PRId64 " is not in the batch of step %" PRId64 ", which has the samples %s%s",
        g->question->sample, g->question->step, some.data != NULL ? some.data : "",
        samples->count > 8 ? ", ..." : "");
    cse_text_clear(&some);
    return status;
}

static cse_status find_sample(gathering *g)
{
    cse_step_samples samples;
    g->place = -1;
    if (g->question->sample < 0)
        return CSE_OK;
    CSE_TRY(cse_step_samples_read(g->question->folder, g->question->step, &samples));
    for (int64_t i = 0; g->place < 0 && i < samples.count; i++)
        if (samples.numbers[i] == g->question->sample)
            g->place = i;
    cse_status status = g->place >= 0 ? CSE_OK : absent_sample(g, &samples);
    free(samples.numbers);
    return status;
}

/* ---- tensors ---- */

/* What is asked for of one tensor; count 0: nothing. */
static cse_checkpoint_tensor cut(const gathering *g, int t)
{
    const cse_computed_question *q = g->question;
    const cse_tracked_tensor *row = &g->graph->tracked[t];
    const gathered *from = &g->tensors[t];
    const int64_t elements = elements_of(g, t), parts = g->graph->microbatch_count;
    cse_checkpoint_tensor tensor = { .name = row->name,
                                     .dtype = CSE_FLOAT32,
                                     .shape = row->node->shape };
    if (g->place >= 0) {
        const int64_t size = g->graph->micro_batch_size;
        if (!g->rows[row->node->scratch] || from->of_batch == NULL)
            return tensor;
        tensor.shape.dims[0] /= size;
        tensor.data = from->of_batch + g->place * (elements / size);
    } else if (q->microbatch >= 0 && from->of_batch != NULL) {
        tensor.data = from->of_batch + q->microbatch * elements;
    } else if (from->of_step != NULL) {
        tensor.data = from->of_step;
    } else if (from->of_batch != NULL) {
        tensor.data = from->of_batch;
        if (g->rows[row->node->scratch]) {
            tensor.shape.dims[0] *= parts;
        } else if (tensor.shape.rank < CSE_MAX_RANK) {
            memmove(tensor.shape.dims + 1, tensor.shape.dims,
                    (size_t)tensor.shape.rank * sizeof *tensor.shape.dims);
            tensor.shape.dims[0] = parts;
            tensor.shape.rank++;
        }
    }
    return tensor;
}

static cse_status check_whole(const gathering *g, int t)
{
    const gathered *from = &g->tensors[t];
    for (int m = 0; from->of_batch != NULL && m < g->graph->microbatch_count; m++)
        if (!from->has[m])
            return cse_fail(CSE_INTERNAL, "the replay left no values of %s in microbatch %d",
                            g->graph->tracked[t].name, m);
    return from->of_step == NULL || from->step_elements >= elements_of(g, t)
               ? CSE_OK
               : cse_fail(CSE_INTERNAL, "the replay left too few values of %s",
                          g->graph->tracked[t].name);
}

static cse_status add_tensors(const gathering *g, cse_tensor_view *view)
{
    for (int t = 0; t < g->graph->tracked_count; t++) {
        if (!g->graph->tracked[t].whole)
            continue;
        CSE_TRY(check_whole(g, t));
        const cse_checkpoint_tensor tensor = cut(g, t);
        if (tensor.data != NULL)
            cse_tensor_view_add(view, &tensor);
    }
    if (view->count > 0 || g->place < 0)
        return CSE_OK;
    return cse_fail(CSE_NO_INPUT,
                    "none of these tensors has rows for samples, only sums over them: "
                    "leave out --sample, or give --microbatch");
}

static cse_status gather(gathering *g, cse_tensor_view *view)
{
    CSE_TRY(cse_replay_graph(g->question->folder, &g->graph));
    g->tensors = cse_calloc((size_t)g->graph->tracked_count + 1, sizeof *g->tensors);
    if (g->question->microbatch >= g->graph->microbatch_count)
        return cse_fail(CSE_NO_INPUT, "microbatch %" PRId64 ": the step has %d, from 0",
                        g->question->microbatch, g->graph->microbatch_count);
    g->rows = cse_sample_rows(g->graph);
    CSE_TRY(find_sample(g));
    CSE_TRY(read_files(g));
    return add_tensors(g, view);
}

cse_status cse_computed_values_load(const cse_computed_question *question, cse_tensor_view *view)
{
    gathering g = { .question = question };
    cse_status status = gather(&g, view);
    for (int t = 0; g.tensors != NULL && t < g.graph->tracked_count; t++) {
        free(g.tensors[t].of_batch);
        free(g.tensors[t].of_step);
        free(g.tensors[t].has);
    }
    free(g.tensors);
    free(g.rows);
    cse_graph_destroy(&g.graph);
    return status;
}

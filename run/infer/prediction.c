/* Reads samples, a batch at a time, and runs the evaluation forward pass over them. */
#include "run/infer/prediction.h"

#include <string.h>

#include "engine/base/text.h"
#include "engine/base/types/shape.h"
#include "engine/graph/trace/trace.h"
#include "run/infer/inference.h"
#include "run/infer/traced_predictions.h"
#include "run/session/session.h"

enum { MOST_SAMPLES = 64 };

typedef struct predicting {
    const cse_prediction_options *options;
    cse_dataloader *loader;
    const cse_input *input;
    cse_inference *inference;
    int streams[CSE_MAX_STREAMS]; /* the pass's input of each stream */
    int labels, targets;          /* the streams of answers; -1: none */
    int64_t batch;
} predicting;

typedef struct file_listeners {
    cse_prediction_listener *predicted;
    cse_bad_file_listener *bad;
    void *self;
} file_listeners;

/* ---- the pass ---- */

/* The last node below the scope; NULL: none. */
static cse_tensor *last_of_scope(const cse_graph *graph, const char *scope)
{
    const size_t length = strlen(scope);
    for (int n = graph->node_count - 1; n >= 0; n--) {
        const char *of_node = graph->nodes[n]->scope;
        if (of_node != NULL && strncmp(of_node, scope, length) == 0 &&
            (of_node[length] == '\0' || of_node[length] == '.') && graph->nodes[n]->batch)
            return graph->nodes[n];
    }
    return NULL;
}

static bool is_listed(const char *const *names, int count, const char *name)
{
    for (int i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

static cse_tensor *no_such_output(const cse_graph *graph, const char *wanted)
{
    enum { SHOWN = 200 };
    const char *names[SHOWN];
    int count = 0;
    cse_text list = { 0 };
    for (int n = 0; n < graph->node_count && count < SHOWN; n++) {
        const char *scope = graph->nodes[n]->scope;
        if (scope == NULL || scope[0] == '\0' || !graph->nodes[n]->batch ||
            is_listed(names, count, scope))
            continue;
        cse_text_add(&list, "%s%s", count > 0 ? ", " : "", scope);
        names[count++] = scope;
    }
    cse_tensor *poison = cse_trace_fail(CSE_USAGE, "the model computes no \"%.100s\"; accepted: %s",
                                        wanted, list.size > 0 ? list.data : "none");
    cse_text_clear(&list);
    return poison;
}

static void trace(cse_inference *inference, void *self)
{
    predicting *p = self;
    for (int s = 0; s < p->input->stream_count; s++) {
        p->streams[s] = cse_trace_graph()->input_count;
        cse_inference_input(inference, &p->input->streams[s]);
    }
    cse_tensor *values = cse_trace_predictions(p->options->model, cse_inference_step(inference));
    if (p->options->output != NULL && !cse_trace_is_poison(values)) {
        values = last_of_scope(cse_trace_graph(), p->options->output);
        if (values == NULL)
            values = no_such_output(cse_trace_graph(), p->options->output);
    }
    if (!cse_trace_is_poison(values) &&
        (values->shape.rank < 1 || values->shape.dims[0] != p->batch))
        values = cse_trace_fail(CSE_USAGE, "that output is not one value, or tensor, a sample");
    cse_inference_output(inference, "predictions", values);
}

static cse_status compile(predicting *p)
{
    cse_eval_mode(p->options->model);
    cse_status status = cse_inference_new(
        &(cse_inference_options){ .batch = p->batch, .trace = trace, .self = p }, &p->inference);
    cse_train_mode(p->options->model);
    return status;
}

/* Of the samples that stand in the memory of the inputs. */
static cse_status compute(const predicting *p, cse_predicted *predicted)
{
    cse_shape shape;
    CSE_TRY(cse_inference_run(p->inference));
    predicted->values = cse_inference_output_view(p->inference, 0, &shape, &predicted->dtype);
    predicted->shape = (cse_shape){ .rank = shape.rank - 1 };
    memcpy(predicted->shape.dims, shape.dims + 1,
           sizeof *shape.dims * (size_t)predicted->shape.rank);
    return CSE_OK;
}

/* ---- the samples ---- */

static cse_status read_samples(predicting *p, int64_t first, int64_t count, void *outputs[])
{
    const int64_t stride = p->options->stride;
    if (stride <= 1)
        return cse_dataloader_read_samples(p->loader, first, count, outputs);
    for (int64_t i = 0; i < count; i++) {
        CSE_TRY(cse_dataloader_read_samples(p->loader, first + i * stride, 1, outputs));
        for (int s = 0; s < p->input->stream_count; s++) {
            const cse_stream *stream = &p->input->streams[s];
            outputs[s] = (unsigned char *)outputs[s] +
                         cse_shape_elements(stream->shape) * (int64_t)cse_dtype_size(stream->dtype);
        }
    }
    return CSE_OK;
}

static cse_status run_batch(predicting *p, int64_t first, int64_t count,
                            cse_prediction_listener *listener, void *self)
{
    void *outputs[CSE_MAX_STREAMS];
    const void *streams[CSE_MAX_STREAMS];
    cse_predicted predicted = {
        .first = first, .count = count, .input = p->input, .streams = streams
    };
    for (int s = 0; s < p->input->stream_count; s++)
        streams[s] = outputs[s] = cse_inference_input_memory(p->inference, p->streams[s]);
    CSE_TRY(read_samples(p, first, count, outputs));
    CSE_TRY(compute(p, &predicted));
    if (p->labels >= 0)
        predicted.labels = cse_inference_input_memory(p->inference, p->streams[p->labels]);
    if (p->targets >= 0)
        predicted.targets = cse_inference_input_memory(p->inference, p->streams[p->targets]);
    return listener(self, &predicted);
}

/* ---- files ---- */

/* Reads files from *next on until the batch is full; `samples` are those that could be read. */
static cse_status read_files(predicting *p, int64_t *next, int64_t *samples, int64_t *count,
                             const file_listeners *listeners)
{
    cse_picture_files *files = p->options->files;
    const int64_t elements = cse_shape_elements(cse_picture_files_shape(files));
    float *values = cse_inference_input_memory(p->inference, p->streams[0]);
    for (*count = 0; *count < p->batch && *next < cse_picture_files_count(files); ++*next) {
        cse_status status = cse_picture_files_read(files, *next, values + *count * elements);
        if (status == CSE_OK)
            samples[(*count)++] = *next;
        else
            CSE_TRY(listeners->bad(listeners->self, *next, status));
    }
    return CSE_OK;
}

static cse_status run_files(predicting *p, const file_listeners *listeners)
{
    int64_t next = 0, count, samples[MOST_SAMPLES];
    while (next < cse_picture_files_count(p->options->files)) {
        cse_predicted predicted = { .first = next, .samples = samples };
        CSE_TRY(read_files(p, &next, samples, &count, listeners));
        if (count == 0)
            break;
        predicted.count = count;
        CSE_TRY(compute(p, &predicted));
        CSE_TRY(listeners->predicted(listeners->self, &predicted));
    }
    return CSE_OK;
}

/* The streams that a data loader of pictures has; labels that the pass may ask for are zeros. */
static void describe_files(const cse_picture_files *files, cse_input *input)
{
    *input = (cse_input){ .stream_count = 2, .sample_count = cse_picture_files_count(files) };
    input->streams[0] = (cse_stream){ "images", cse_picture_files_shape(files), CSE_FLOAT32 };
    input->streams[1] = (cse_stream){ .name = "labels", .dtype = CSE_INT32 };
}

/* A power of two, so that another number of files finds the compiled pass. */
static int64_t batch_for(int64_t files)
{
    int64_t batch = 1;
    while (batch < files && batch < MOST_SAMPLES)
        batch *= 2;
    return batch;
}

cse_status cse_predict_files(const cse_prediction_options *options,
                             cse_prediction_listener *listener, cse_bad_file_listener *bad,
                             void *self)
{
    cse_input input;
    const file_listeners listeners = { listener, bad, self };
    predicting p = { .options = options, .input = &input, .labels = -1, .targets = -1 };
    describe_files(options->files, &input);
    p.batch = batch_for(input.sample_count);
    cse_status status = compile(&p);
    if (status == CSE_OK)
        status = run_files(&p, &listeners);
    cse_inference_destroy(&p.inference);
    return status;
}

/* ---- samples of the data ---- */

/* The stream of one answer a sample; -1: there is none. */
static int find_answers(const cse_input *input, const char *name, cse_dtype dtype)
{
    for (int s = 0; s < input->stream_count; s++)
        if (strcmp(input->streams[s].name, name) == 0 && input->streams[s].shape.rank == 0 &&
            input->streams[s].dtype == dtype)
            return s;
    return -1;
}

static cse_status predict(predicting *p, cse_prediction_listener *listener, void *self)
{
    const cse_prediction_options *o = p->options;
    const int64_t samples = p->input->sample_count;
    if (o->first < 0 || o->first >= samples || (o->count > samples - o->first && !o->may_be_fewer))
        return cse_fail(
            CSE_USAGE, "samples %lld to %lld are asked for; the data have %lld, counted from 0",
            (long long)o->first, (long long)(o->first + (o->count > 0 ? o->count : 1)) - 1,
            (long long)samples);
    const int64_t left = samples - o->first;
    const int64_t end = o->count > 0 && o->count < left ? o->first + o->count : samples;
    p->batch = end - o->first < MOST_SAMPLES ? end - o->first : MOST_SAMPLES;
    p->labels = find_answers(p->input, "labels", CSE_INT32);
    p->targets = find_answers(p->input, "targets", CSE_FLOAT32);
    cse_status status = compile(p);
    for (int64_t first = o->first; first < end && status == CSE_OK; first += p->batch)
        status =
            run_batch(p, first, end - first < p->batch ? end - first : p->batch, listener, self);
    return status;
}

cse_status cse_predict(const cse_prediction_options *options, cse_prediction_listener *listener,
                       void *self)
{
    predicting p = { .options = options };
    if (options->stride > 1 && options->count > MOST_SAMPLES)
        return cse_fail(CSE_INTERNAL, "cse_predict: a stride goes with one batch");
    CSE_TRY(cse_dataloader_open_unanswered(options->loader, options->seed, &p.loader));
    p.input = cse_dataloader_input_view(p.loader);
    cse_status status = predict(&p, listener, self);
    cse_inference_destroy(&p.inference);
    cse_dataloader_close(&p.loader);
    return status;
}

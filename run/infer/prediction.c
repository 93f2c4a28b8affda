/* Reads samples, a batch at a time, and runs the evaluation forward pass over them. */
#include "run/infer/prediction.h"

#include <string.h>

#include "engine/base/text.h"
#include "engine/trace/trace.h"
#include "engine/types/shape.h"
#include "run/infer/inference.h"
#include "run/session/session.h"

enum { MOST_SAMPLES = 64 };

typedef struct predicting {
    const cse_prediction_options *options;
    cse_dataloader *loader;
    const cse_input *input;
    cse_inference *inference;
    int streams[CSE_MAX_STREAMS]; /* the pass's input of each stream */
    int labels;                   /* the stream of labels; -1: none */
    int64_t batch;
} predicting;

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

static cse_tensor *predictions_of(cse_inference *inference, const predicting *p)
{
    cse_tensor *predictions = NULL;
    cse_model *model = p->options->model;
    const cse_input *input = p->input;
    cse_tensor *only = NULL;
    int others = 0;
    for (int s = 0; s < input->stream_count; s++) {
        const char *name = input->streams[s].name;
        if (strcmp(name, "labels") != 0 && strcmp(name, "targets") != 0) {
            only = cse_trace_graph()->inputs[p->streams[s]].node;
            others++;
        }
    }
    if (others == 1 && model->descriptor->loss == NULL)
        return cse_forward(model, only);
    cse_model_loss(model, cse_inference_step(inference), &predictions);
    return predictions;
}

static void trace(cse_inference *inference, void *self)
{
    predicting *p = self;
    for (int s = 0; s < p->input->stream_count; s++) {
        p->streams[s] = cse_trace_graph()->input_count;
        cse_inference_input(inference, &p->input->streams[s]);
    }
    cse_tensor *values = predictions_of(inference, p);
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

/* ---- the samples ---- */

static cse_status run_batch(predicting *p, int64_t first, int64_t count,
                            cse_prediction_listener *listener, void *self)
{
    void *outputs[CSE_MAX_STREAMS];
    cse_shape shape, of_sample;
    cse_predicted predicted = { .first = first, .count = count, .input = p->input };
    for (int s = 0; s < p->input->stream_count; s++)
        outputs[s] = cse_inference_input_memory(p->inference, p->streams[s]);
    CSE_TRY(cse_dataloader_read_samples(p->loader, first, count, outputs));
    CSE_TRY(cse_inference_run(p->inference));
    predicted.values = cse_inference_output_view(p->inference, 0, &shape, &predicted.dtype);
    of_sample = (cse_shape){ .rank = shape.rank - 1 };
    memcpy(of_sample.dims, shape.dims + 1, sizeof *shape.dims * (size_t)of_sample.rank);
    predicted.shape = of_sample;
    if (p->labels >= 0)
        predicted.labels = outputs[p->labels];
    return listener(self, &predicted);
}

static int find_labels(const cse_input *input)
{
    for (int s = 0; s < input->stream_count; s++)
        if (strcmp(input->streams[s].name, "labels") == 0 && input->streams[s].shape.rank == 0 &&
            input->streams[s].dtype == CSE_INT32)
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
    p->labels = find_labels(p->input);
    cse_eval_mode(o->model);
    cse_status status = cse_inference_new(
        &(cse_inference_options){ .batch = p->batch, .trace = trace, .self = p }, &p->inference);
    cse_train_mode(o->model);
    for (int64_t first = o->first; first < end && status == CSE_OK; first += p->batch)
        status =
            run_batch(p, first, end - first < p->batch ? end - first : p->batch, listener, self);
    return status;
}

cse_status cse_predict(const cse_prediction_options *options, cse_prediction_listener *listener,
                       void *self)
{
    predicting p = { .options = options };
    CSE_TRY(cse_dataloader_open(options->loader, options->seed, &p.loader));
    p.input = cse_dataloader_input_view(p.loader);
    cse_status status = predict(&p, listener, self);
    cse_inference_destroy(&p.inference);
    cse_dataloader_close(&p.loader);
    return status;
}

/* Two traces, of two and of three samples, say which sizes grow with the samples. */
#include "run/infer/forward_pass.h"

#include <string.h>

#include "dataloader/input.h"
#include "engine/base/config/settings.h"
#include "engine/formats/onnx/onnx.h"
#include "engine/graph/trace/trace.h"
#include "engine/nn/configured.h"
#include "engine/nn/plugin_find.h"
#include "run/infer/language_model.h"
#include "run/infer/traced_predictions.h"
#include "run/session/session.h"

enum { TRACES = 2 };
static const int64_t samples[TRACES] = { 2, 3 };

typedef struct tracing {
    cse_model *model;
    const cse_stream *streams;
    int stream_count;
    cse_tensor *output;
} tracing;

/* ---- inputs ---- */

static const cse_setting *declared(const cse_model *model, const char *name)
{
    const cse_setting *setting = model->descriptor->settings;
    while (setting->name != NULL && strcmp(setting->name, name) != 0)
        setting++;
    return setting->name != NULL && cse_settings_has(model->settings, name) ? setting : NULL;
}

/* Tokens, images, or a row of numbers. */
static cse_status streams_of_model(const cse_model *model, cse_stream *stream)
{
    const cse_settings *s = model->settings;
    const int64_t longest = cse_longest_sequence(model);
    *stream = (cse_stream){ .name = NULL };
    if (cse_model_vocabulary(model) > 0 && longest > 0)
        *stream = (cse_stream){ "input_ids", cse_shape_of(longest), CSE_INT32 };
    else if (declared(model, "image_size") != NULL && declared(model, "num_channels") != NULL &&
             cse_settings_count(s, "image_size") == 2)
        *stream = (cse_stream){ "images",
                                cse_shape_of(cse_settings_integer(s, "num_channels"),
                                             cse_settings_integer_at(s, "image_size", 0),
                                             cse_settings_integer_at(s, "image_size", 1)),
                                CSE_FLOAT32 };
    else if (declared(model, "input_size") != NULL)
        *stream = (cse_stream){ "inputs", cse_shape_of(cse_settings_integer(s, "input_size")),
                                CSE_FLOAT32 };
    return stream->name != NULL
               ? CSE_OK
               : cse_fail(CSE_USAGE,
                          "model %s does not say what it takes: give --config CONFIG.yaml with a "
                          "data loader",
                          model->descriptor->name);
}

/* Without the data where they are not there. */
static cse_status open_loader(const cse_config_plugin *plugin, const cse_model *model,
                              cse_dataloader **loader)
{
    const cse_unseen_data known = { .longest = cse_longest_sequence(model) };
    const cse_status status = cse_dataloader_open(plugin->settings, 0, loader);
    return status == CSE_NO_INPUT ? cse_dataloader_describe(plugin->settings, 0, &known, loader)
                                  : status;
}

/* ---- the trace ---- */

static cse_tensor *trace_step(cse_step *step, void *self)
{
    tracing *t = self;
    int64_t offset = 0;
    for (int s = 0; s < t->stream_count; s++) {
        const cse_tensor *input = cse_graph_add_input(step->graph, &t->streams[s], offset);
        offset += cse_aligned_bytes(cse_node_bytes(input));
    }
    t->output = cse_trace_predictions(t->model, step);
    return NULL;
}

static cse_status trace_twice(cse_session *session, tracing *t, cse_arena *arena,
                              cse_forward_pass *pass)
{
    cse_step *steps[TRACES] = { NULL };
    cse_onnx_trace traces[TRACES];
    cse_status status = CSE_OK;
    cse_eval_mode(t->model);
    for (int i = 0; i < TRACES && status == CSE_OK; i++) {
        cse_graph *graph = cse_graph_new(1, samples[i]);
        status = cse_step_trace_graph(session, graph, trace_step, t, &steps[i]);
        traces[i] = (cse_onnx_trace){ graph, t->output };
    }
    if (status == CSE_OK)
        status = cse_onnx_describe(arena, traces, "predictions", pass);
    for (int i = 0; i < TRACES; i++)
        cse_step_destroy(&steps[i]);
    return status;
}

static cse_status trace_model(const cse_job_settings *settings, cse_arena *arena,
                              cse_forward_pass *pass)
{
    CSE_TRY(cse_config_load_plugins(settings->config, cse_network_plugin_find, NULL));
    CSE_TRY(cse_session_configure(&settings->session,
                                  &(cse_session_sections){ .precision = settings->precision,
                                                           .adapters = settings->adapters,
                                                           .recompute = settings->recompute }));
    cse_session *session = cse_session_open_view("cse_forward_pass_trace");
    tracing t = { .model = cse_compile(cse_configured_model(settings->model)) };
    cse_stream stream;
    cse_dataloader *loader = NULL;
    CSE_TRY(cse_session_status());
    const cse_config_plugin *plugin =
        settings->val_dataloader != NULL ? settings->val_dataloader : settings->train_dataloader;
    if (plugin != NULL) {
        CSE_TRY(open_loader(plugin, t.model, &loader));
        t.streams = cse_dataloader_input_view(loader)->streams;
        t.stream_count = cse_dataloader_input_view(loader)->stream_count;
    } else {
        CSE_TRY(streams_of_model(t.model, &stream));
        t.streams = &stream;
        t.stream_count = 1;
    }
    cse_status status = trace_twice(session, &t, arena, pass);
    cse_dataloader_close(&loader);
    return status;
}

cse_status cse_forward_pass_trace(const cse_job_settings *settings, cse_arena *arena,
                                  cse_forward_pass *pass)
{
    *pass = (cse_forward_pass){ .weight_count = 0 };
    cse_status status = trace_model(settings, arena, pass);
    cse_finish();
    return status;
}

/* Traces a step over the data of a loader. */
#include "csengine/generated/ops.h"
#include "dataloader/input.h"
#include "engine/graph/trace/trace.h"
#include "run/session/session.h"

cse_tensor *cse_graph_add_input(cse_graph *graph, const cse_stream *stream, int64_t offset_bytes)
{
    cse_shape shape = { .rank = stream->shape.rank + 1, .dims = { graph->micro_batch_size } };
    for (int i = 0; i < stream->shape.rank; i++)
        shape.dims[i + 1] = stream->shape.dims[i];
    cse_attributes attributes = { .integer_count = 1,
                                  .integers = { graph->input_count },
                                  .text = stream->name };
    CSE_GROW(graph->inputs, graph->input_count, graph->input_capacity);
    graph->inputs[graph->input_count] = (cse_input_entry){
        .name = cse_arena_string(graph->arena, stream->name),
        .shape = shape,
        .dtype = stream->dtype,
        .node = cse_graph_leaf(graph, &cse_op_input, &attributes, shape, stream->dtype),
        .offset_bytes = offset_bytes,
    };
    return graph->inputs[graph->input_count++].node;
}

/* What a step returns is its loss, whatever op it comes from. */
static void name_loss(cse_step *step, const cse_tensor *loss)
{
    for (int c = 0; c < step->closure_count; c++)
        for (int i = 0; i < step->closures[c].count; i++)
            if (step->closures[c].tensors[i] == loss)
                step->closures[c].value_names[i] = "loss";
}

static cse_graph *new_graph(const cse_dataloader *loader)
{
    const cse_batching *batching = cse_dataloader_batching_view(loader);
    const cse_input *input = cse_dataloader_input_view(loader);
    cse_graph *graph =
        cse_graph_new((int)cse_batching_microbatches(batching), batching->micro_batch_size);
    graph->uneven = cse_dataloader_is_uneven(loader);
    for (int s = 0; s < input->stream_count; s++)
        cse_graph_add_input(graph, &input->streams[s], cse_dataloader_stream_offset(loader, s));
    graph->space_bytes[CSE_SPACE_INPUT] = cse_dataloader_microbatch_bytes(loader);
    return graph;
}

cse_graph *cse_graph_of_size(const cse_dataloader *loader, int64_t micro_batch_size)
{
    const int64_t samples = cse_batching_samples(cse_dataloader_batching_view(loader));
    const cse_input *input = cse_dataloader_input_view(loader);
    cse_graph *graph = cse_graph_new((int)(samples / micro_batch_size), micro_batch_size);
    int64_t offset = 0;
    graph->uneven = cse_dataloader_is_uneven(loader);
    for (int s = 0; s < input->stream_count; s++)
        offset += cse_aligned_bytes(
            cse_node_bytes(cse_graph_add_input(graph, &input->streams[s], offset)));
    graph->space_bytes[CSE_SPACE_INPUT] = offset;
    return graph;
}

/* Maps the graph's states to the session's, and unbinds the latter for the next graph. */
static void collect_bound_states(cse_session *session, cse_step *step)
{
    step->bound =
        cse_arena_alloc(step->graph->arena, (size_t)step->graph->state_count * sizeof *step->bound);
    for (int i = 0; i < session->network.state_count; i++) {
        cse_state *state = session->network.states[i];
        if (state->index >= 0)
            step->bound[state->index] = state;
        state->index = -1;
        state->gradients = NULL;
        state->updated = false;
    }
}

/* What a graph gets before its passes. Callbacks of custom gradients are called here, as they
 * belong to the step that is traced and to what it is found by again. */
static cse_status settle(cse_session *session, cse_step *step)
{
    cse_graph *graph = step->graph;
    CSE_TRY(cse_trace_status(graph));
    CSE_TRY(cse_session_status());
    graph->precision = session->network.precision;
    graph->sums_samples = session->network.sums_samples && step->training;
    graph->portable = session->configuration.portable;
    graph->streams_states = session->opened.cluster.states_directory != NULL;
    graph->recompute = step->training ? session->opened.recompute : NULL;
    if (session->opened.numerics != NULL && step->training)
        graph->numerics = &session->opened.numerics->request;
    /* An evaluation step lacks the scopes of the backward pass, so patterns may match nothing. */
    if (session->network.precision != NULL)
        CSE_TRY(cse_precision_apply_patterns(session->network.precision, graph, step->training));
    if (graph->custom_count == 0)
        return CSE_OK;
    CSE_TRY(cse_pass_autodiff(graph, true));
    return cse_session_status();
}

cse_status cse_step_trace(cse_session *session, const cse_dataloader *loader,
                          cse_step_function *function, void *self, cse_step **result)
{
    return cse_step_trace_graph(session, new_graph(loader), function, self, result);
}

cse_status cse_step_trace_graph(cse_session *session, cse_graph *graph, cse_step_function *function,
                                void *self, cse_step **result)
{
    cse_step *step = cse_calloc(1, sizeof *step);
    *step = (cse_step){
        .network = &session->network, .graph = graph, .loss_fetch = -1, .exhausted_fetch = -1
    };
    *result = step;
    session->network.trace_count++;
    cse_trace_begin(step->graph);
    session->network.traced = step;
    cse_tensor *loss = function(step, self);
    if (loss != NULL) {
        step->loss_fetch = cse_step_fetch(step, "loss", loss);
        name_loss(step, loss);
    }
    cse_trace_end();
    cse_status status = settle(session, step);
    session->network.traced = NULL;
    collect_bound_states(session, step);
    return status;
}

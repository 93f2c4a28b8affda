/* Outputs are sums over the batch of which one microbatch is computed: the sum is the value itself,
 * and stands where the REPLICA program left its term. */
#include "run/infer/inference.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"
#include "engine/base/float_mode.h"
#include "engine/base/machine.h"
#include "engine/base/types/shape.h"
#include "engine/code/codegen/codegen.h"
#include "engine/code/execute/execute.h"
#include "engine/graph/passes/memory_plan.h"
#include "engine/graph/trace/trace.h"
#include "engine/nn/update/grad_scaler.h"
#include "run/session/session.h"
#include "workers/control/execution_limits.h"

struct cse_inference {
    const cse_inference_options *options; /* while tracing */
    cse_session *session;
    cse_step *step;
    cse_executable *executable;
    unsigned char *spaces[CSE_SPACE_COUNT];
    bool prepared;
    cse_thread_team *team;
};

/* ---- while tracing ---- */

cse_step *cse_inference_step(const cse_inference *inference)
{
    return inference->step;
}

cse_tensor *cse_inference_input(cse_inference *inference, const cse_stream *stream)
{
    cse_graph *graph = inference->step->graph;
    const int64_t offset = graph->space_bytes[CSE_SPACE_INPUT];
    cse_tensor *input = cse_graph_add_input(graph, stream, offset);
    const int64_t bytes = cse_shape_elements(input->shape) * 4;
    graph->space_bytes[CSE_SPACE_INPUT] = offset + (bytes + 63) / 64 * 64;
    return input;
}

int cse_inference_output(cse_inference *inference, const char *name, cse_tensor *tensor)
{
    if (cse_trace_is_poison(tensor))
        return -1;
    const bool is_float = cse_dtype_is_float(tensor->dtype);
    /* Sums over the batch are of floats; whole numbers below 2^24 are exact there. */
    if (tensor->dtype != CSE_FLOAT32)
        tensor = cse_cast(tensor, CSE_FLOAT32);
    if (!cse_trace_is_poison(tensor) && tensor->batch)
        tensor = cse_batch_sum(tensor);
    if (!is_float)
        tensor = cse_cast(tensor, CSE_INT32);
    return cse_step_fetch(inference->step, name, tensor);
}

static cse_tensor *trace_step(cse_step *step, void *self)
{
    cse_inference *inference = self;
    inference->step = step;
    inference->options->trace(inference, inference->options->self);
    return NULL;
}

/* ---- from the trace to code ---- */

/* With more than one microbatch in the graph what depends on states alone, as weights in 16 bits,
 * is computed in groups of their own, which run once. Only one microbatch is ever run. */
enum { MICROBATCHES = 2 };

static cse_status compile(cse_inference *inference)
{
    cse_compilation *compilation = NULL;
    cse_compile_result compiled = { .cached = false };
    cse_graph *graph = inference->step->graph;
    cse_status status = cse_compilation_new(
        graph, NULL, inference->session->configuration.compile_dir, &compilation);
    if (status == CSE_OK)
        status = cse_compilation_plan(compilation, graph, NULL);
    if (status == CSE_OK)
        status = cse_compilation_finish(compilation, graph, &compiled);
    cse_compilation_destroy(&compilation);
    if (status == CSE_OK)
        status = cse_executable_open_verified(compiled.directory, compiled.digest,
                                              &inference->executable);
    return status;
}

static void copy_states(cse_inference *inference)
{
    const cse_graph *graph = inference->step->graph;
    for (int i = 0; i < graph->state_count; i++) {
        cse_state *state = inference->step->bound[i];
        memcpy(inference->spaces[CSE_SPACE_STATE] + graph->states[i].offset_bytes,
               cse_state_values(&inference->session->network, state), cse_state_bytes(state));
    }
}

/* One process with all of it: the states twice, since those of the session stay. */
static cse_status check_memory(const cse_graph *planned)
{
    const cse_memory_figures figures = cse_memory_plan_figures(planned);
    const cse_memory_limit limit = cse_memory_limit_look();
    const cse_execution_needs needs = {
        .replicas = 1,
        .worker_bytes = CSE_WORKER_BASE_BYTES + figures.workspace_bytes + figures.state_bytes,
        .coordinator_bytes = CSE_COORDINATOR_BASE_BYTES,
        .checkpoint_bytes = figures.state_bytes,
    };
    return cse_execution_fits(&needs, &limit);
}

static int threads_of(const cse_session *session)
{
    const int asked = session->plan.inference_threads;
    const int wanted = asked > 0 ? asked : cse_machine_look().cores;
    return wanted < CSE_THREAD_TEAM_MOST ? wanted : CSE_THREAD_TEAM_MOST;
}

static cse_status open(cse_inference *inference)
{
    CSE_TRY(cse_network_settle_precision(&inference->session->network));
    cse_graph *graph = cse_graph_new(MICROBATCHES, inference->options->batch);
    CSE_TRY(
        cse_step_trace_graph(inference->session, graph, trace_step, inference, &inference->step));
    CSE_TRY(compile(inference));
    const cse_graph *planned = inference->executable->graph;
    CSE_TRY(check_memory(planned));
    for (int s = 0; s < CSE_SPACE_COUNT; s++)
        if (s != CSE_SPACE_REDUCED)
            inference->spaces[s] = cse_aligned_calloc((size_t)planned->space_bytes[s] + 64);
    inference->spaces[CSE_SPACE_REDUCED] = inference->spaces[CSE_SPACE_PARTIAL];
    copy_states(inference);
    inference->team = cse_thread_team_new(threads_of(inference->session));
    return CSE_OK;
}

cse_status cse_inference_new(const cse_inference_options *options, cse_inference **result)
{
    *result = NULL;
    cse_session *session = cse_session_open_view("cse_inference_new");
    if (session == NULL)
        return CSE_USAGE;
    CSE_TRY(cse_session_status());
    CSE_TRY(cse_network_may_read(&session->network, "cse_inference_new"));
    if (session->network.executing || session->network.traced != NULL)
        return cse_fail(CSE_USAGE, "cse_inference_new: an execution is under way");
    cse_inference *inference = cse_calloc(1, sizeof *inference);
    inference->session = session;
    inference->options = options;
    cse_status status = open(inference);
    inference->options = NULL;
    if (status != CSE_OK)
        cse_inference_destroy(&inference);
    *result = inference;
    return status;
}

void cse_inference_destroy(cse_inference **inference)
{
    cse_inference *old = *inference;
    *inference = NULL;
    if (old == NULL)
        return;
    old->spaces[CSE_SPACE_REDUCED] = NULL;
    for (int s = 0; s < CSE_SPACE_COUNT; s++)
        free(old->spaces[s]);
    cse_executable_destroy(&old->executable);
    cse_step_destroy(&old->step);
    cse_thread_team_destroy(&old->team);
    free(old);
}

/* ---- running ---- */

void *cse_inference_input_memory(const cse_inference *inference, int index)
{
    return inference->spaces[CSE_SPACE_INPUT] +
           inference->executable->graph->inputs[index].offset_bytes;
}

static cse_status check_indices(const cse_inference *inference, int index)
{
    const cse_input_entry *input = &inference->executable->graph->inputs[index];
    const int32_t *values = cse_inference_input_memory(inference, index);
    const int64_t count = cse_shape_elements(input->shape);
    for (int64_t i = 0; i < count; i++)
        if ((values[i] < 0 || values[i] >= input->index_count) && values[i] != input->index_ignored)
            return cse_fail(CSE_DATA, "%s: %d is outside of 0 to %lld (%s is %lld)", input->name,
                            (int)values[i], (long long)input->index_count - 1, input->index_use,
                            (long long)input->index_count);
    return CSE_OK;
}

cse_status cse_inference_run(cse_inference *inference)
{
    const cse_graph *graph = inference->executable->graph;
    for (int i = 0; i < graph->input_count; i++)
        if (graph->inputs[i].index_count > 0)
            CSE_TRY(check_indices(inference, i));
    cse_executable *executable = inference->executable;
    cse_frame frame = { .seed = inference->session->configuration.seed,
                        .prepared = inference->prepared,
                        .team = inference->team };
    for (int s = 0; s < CSE_SPACE_COUNT; s++)
        frame.base[s] = inference->spaces[s];
    /* As a worker computes it; the thread is a program's of its own. */
    const cse_float_mode mode = cse_float_mode_of_thread();
    cse_set_float_mode();
    executable->replica(executable, &frame);
    executable->weights(executable, &frame);
    cse_float_mode_restore(mode);
    inference->prepared = true;
    return CSE_OK;
}

const void *cse_inference_output_view(const cse_inference *inference, int index, cse_shape *shape,
                                      cse_dtype *dtype)
{
    const cse_fetch_entry *fetch = &inference->executable->graph->fetches[index];
    if (shape != NULL)
        *shape = fetch->value->shape;
    if (dtype != NULL)
        *dtype = fetch->value->dtype;
    return inference->spaces[CSE_SPACE_FETCH] + fetch->offset_bytes;
}

int cse_inference_output_count(const cse_inference *inference)
{
    return inference->executable->graph->fetch_count;
}

const char *cse_inference_output_name(const cse_inference *inference, int index)
{
    return inference->executable->graph->fetches[index].name;
}

/* Outputs are sums over the batch of which one microbatch is computed: the sum is the value itself,
 * and stands where the REPLICA program left its term. */
#include "run/infer/inference.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"
#include "engine/base/float_mode.h"
#include "engine/base/machine.h"
#include "engine/base/pages.h"
#include "engine/base/types/shape.h"
#include "engine/code/codegen/codegen.h"
#include "engine/code/execute/execute.h"
#include "engine/graph/passes/memory_plan.h"
#include "engine/graph/trace/trace.h"
#include "engine/nn/update/grad_scaler.h"
#include "run/infer/weights_in_file.h"
#include "run/session/session.h"
#include "workers/control/execution_limits.h"

/* Memory of a space that several inferences have; the last one to leave frees it, unless the
 * session's states lie in it. */
typedef struct space {
    unsigned char *bytes;
    size_t size;
    int owners;
    bool is_of_session;
    cse_weights_in_file *file; /* that `bytes` are of; NULL: they are memory */
} space;

struct cse_inference {
    const cse_inference_options *options; /* while tracing */
    cse_session *session;
    cse_step *step;
    cse_executable *executable;
    space *spaces[CSE_SPACE_COUNT];
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

/* Values that the session itself has are moved, so that they are in memory once; those of an
 * execution, and those that are made of others by a rule, are copied. */
static bool moves(const cse_state *state)
{
    return !state->borrowed && state->rule == NULL;
}

static void place_states(cse_inference *inference)
{
    const cse_graph *graph = inference->step->graph;
    space *states = inference->spaces[CSE_SPACE_STATE];
    for (int i = 0; i < graph->state_count; i++) {
        cse_state *state = inference->step->bound[i];
        unsigned char *place = states->bytes + graph->states[i].offset_bytes;
        const bool moved = moves(state);
        memcpy(place, cse_state_values(&inference->session->network, state),
               cse_state_bytes(state));
        if (moved)
            cse_state_borrow_values(state, place);
        states->is_of_session = states->is_of_session || moved;
    }
    if (states->is_of_session)
        cse_session_keep_pages(inference->session, states->bytes, states->size);
}

/* ---- memory ---- */

/* Whether both read the same states at the same places. */
static bool has_states_of(const cse_inference *inference, const cse_inference *other)
{
    const cse_graph *a = inference->step->graph, *b = other->step->graph;
    bool same = a->state_count == b->state_count &&
                inference->executable->graph->space_bytes[CSE_SPACE_STATE] ==
                    other->executable->graph->space_bytes[CSE_SPACE_STATE];
    for (int i = 0; same && i < a->state_count; i++)
        same = inference->step->bound[i] == other->step->bound[i] &&
               a->states[i].offset_bytes == b->states[i].offset_bytes;
    return same;
}

static bool has_inputs_of(const cse_inference *inference, const cse_inference *other)
{
    const cse_graph *a = inference->executable->graph, *b = other->executable->graph;
    bool same = a->input_count == b->input_count &&
                a->space_bytes[CSE_SPACE_INPUT] <= b->space_bytes[CSE_SPACE_INPUT];
    for (int i = 0; same && i < a->input_count; i++)
        same = a->inputs[i].offset_bytes == b->inputs[i].offset_bytes;
    return same;
}

/* Inputs take no memory before they are written: not all that there is place for comes. */
static space *new_space(size_t size, bool is_used)
{
    space *made = cse_calloc(1, sizeof *made);
    *made = (space){ .bytes = cse_pages_new(size), .size = size, .owners = 1 };
    if (is_used)
        cse_pages_expect_use(made->bytes, size);
    return made;
}

static void leave_space(space *left)
{
    if (left == NULL || --left->owners > 0)
        return;
    if (left->file != NULL)
        cse_weights_in_file_destroy(&left->file);
    else if (!left->is_of_session)
        cse_pages_release(left->bytes, left->size);
    free(left);
}

static cse_status open_states(cse_inference *inference)
{
    const cse_graph *planned = inference->executable->graph;
    const size_t size = (size_t)planned->space_bytes[CSE_SPACE_STATE] + 64;
    space **states = &inference->spaces[CSE_SPACE_STATE];
    if (inference->session->opened.cluster.states_directory == NULL) {
        *states = new_space(size, true);
        place_states(inference);
        return CSE_OK;
    }
    *states = cse_calloc(1, sizeof **states);
    **states = (space){ .size = size, .owners = 1 };
    CSE_TRY(
        cse_weights_in_file_new(inference->session, inference->step, planned, &(*states)->file));
    (*states)->bytes = cse_weights_in_file_base((*states)->file);
    return CSE_OK;
}

static cse_status open_spaces(cse_inference *inference, const cse_inference *states_of,
                              const cse_inference *inputs_of)
{
    const cse_graph *planned = inference->executable->graph;
    for (int s = 0; s < CSE_SPACE_COUNT; s++) {
        const cse_inference *other = s == CSE_SPACE_STATE   ? states_of
                                     : s == CSE_SPACE_INPUT ? inputs_of
                                                            : NULL;
        if (s == CSE_SPACE_REDUCED || (s == CSE_SPACE_STATE && other == NULL))
            continue;
        if (other != NULL) {
            inference->spaces[s] = other->spaces[s];
            inference->spaces[s]->owners++;
        } else {
            inference->spaces[s] =
                new_space((size_t)planned->space_bytes[s] + 64, s != CSE_SPACE_INPUT);
        }
    }
    return states_of == NULL ? open_states(inference) : CSE_OK;
}

/* One process with all of it. What an execution has of the states is there beside it. */
static cse_status check_memory(const cse_session *session, const cse_graph *planned,
                               bool shares_states)
{
    const cse_memory_figures figures = cse_memory_plan_figures(planned);
    const cse_memory_limit limit = cse_memory_limit_look();
    const cse_cluster_options *cluster = &session->opened.cluster;
    int64_t states = shares_states ? 0 : figures.state_bytes;
    if (cluster->states_directory != NULL && states > cluster->states_memory_bytes)
        states = cluster->states_memory_bytes;
    const cse_execution_needs needs = {
        .replicas = 1,
        .worker_bytes = CSE_WORKER_BASE_BYTES + figures.workspace_bytes + states,
        .coordinator_bytes = CSE_COORDINATOR_BASE_BYTES,
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
    const cse_inference *states_of = inference->options->states_of,
                        *inputs_of = inference->options->inputs_of;
    if (states_of != NULL && !has_states_of(inference, states_of))
        states_of = NULL;
    if (inputs_of != NULL && !has_inputs_of(inference, inputs_of))
        return cse_fail(CSE_INTERNAL, "inference: the inputs of two passes lie at other places");
    CSE_TRY(check_memory(inference->session, inference->executable->graph, states_of != NULL));
    CSE_TRY(open_spaces(inference, states_of, inputs_of));
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
    for (int s = 0; s < CSE_SPACE_COUNT; s++)
        leave_space(old->spaces[s]);
    cse_executable_destroy(&old->executable);
    cse_step_destroy(&old->step);
    cse_thread_team_destroy(&old->team);
    free(old);
}

/* ---- running ---- */

void *cse_inference_input_memory(const cse_inference *inference, int index)
{
    return inference->spaces[CSE_SPACE_INPUT]->bytes +
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
    cse_weights_in_file *file = inference->spaces[CSE_SPACE_STATE]->file;
    cse_frame frame = { .seed = inference->session->configuration.seed,
                        .prepared = inference->prepared,
                        .team = inference->team };
    for (int s = 0; s < CSE_SPACE_COUNT; s++)
        frame.base[s] = inference->spaces[s == CSE_SPACE_REDUCED ? CSE_SPACE_PARTIAL : s]->bytes;
    /* As a worker computes it; the thread is a program's of its own. */
    const cse_float_mode mode = cse_float_mode_of_thread();
    cse_set_float_mode();
    if (file != NULL)
        frame.watch = cse_weights_in_file_watch(file, graph);
    executable->replica(executable, &frame);
    frame.watch = (cse_group_watch){ 0 };
    executable->weights(executable, &frame);
    cse_float_mode_restore(mode);
    inference->prepared = true;
    return file != NULL ? cse_weights_in_file_outcome(file) : CSE_OK;
}

const void *cse_inference_output_view(const cse_inference *inference, int index, cse_shape *shape,
                                      cse_dtype *dtype)
{
    const cse_fetch_entry *fetch = &inference->executable->graph->fetches[index];
    if (shape != NULL)
        *shape = fetch->value->shape;
    if (dtype != NULL)
        *dtype = fetch->value->dtype;
    return inference->spaces[CSE_SPACE_FETCH]->bytes + fetch->offset_bytes;
}

int cse_inference_output_count(const cse_inference *inference)
{
    return inference->executable->graph->fetch_count;
}

const char *cse_inference_output_name(const cse_inference *inference, int index)
{
    return inference->executable->graph->fetches[index].name;
}

/* By the interpreter, whose reference kernels sum in double: nothing is compiled, so that it works
 * where a conversion does, which may start no program. It is slow, and the tokens are few. */
#include "cli/models/merged_logits.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "csengine/csengine.h"
#include "csengine/model.h"
#include "dataloader/input.h"
#include "engine/base/config/config.h"
#include "engine/graph/passes/pass.h"
#include "engine/nn/configured.h"
#include "run/contracts/straight_run.h"
#include "run/infer/language_model.h"
#include "run/job/job_settings.h"
#include "run/job/kinds.h"
#include "run/saving/load_weights.h"
#include "run/session/session.h"
#include "run/session/traced_step.h"

enum { TOKENS = 8 };
/* A pass over so many weights takes seconds. */
static const int64_t most_weights = 400000000;

typedef struct tracing {
    cse_model *model;
    cse_stream stream;
    cse_state *logits;
} tracing;

static cse_tensor *trace(cse_step *step, void *self)
{
    tracing *t = self;
    cse_tensor *tokens = cse_graph_add_input(step->graph, &t->stream, 0);
    cse_tensor *logits = cse_sum(cse_forward(t->model, tokens), cse_axes(0), false);
    cse_assign(t->logits, cse_batch_sum(cse_cast(logits, CSE_FLOAT32)));
    return NULL;
}

/* Values of the session's states, in the run's memory. */
static void set_states(cse_session *session, const cse_straight_run *run)
{
    cse_network *network = &session->network;
    for (int i = 0; i < network->state_count; i++) {
        void *to = cse_straight_run_state(run, network->states[i]->name);
        if (to != NULL)
            memcpy(to, cse_state_values(network, network->states[i]),
                   cse_state_bytes(network->states[i]));
    }
}

static cse_status run_graph(cse_session *session, tracing *t, float *logits)
{
    cse_step *step = NULL;
    cse_executable *executable = NULL;
    int32_t *tokens = cse_aligned_calloc(TOKENS * sizeof *tokens + 64);
    const int64_t vocabulary = cse_model_vocabulary(t->model);
    for (int i = 0; i < TOKENS; i++)
        tokens[i] = (int32_t)((17 + 7919 * (int64_t)i) % vocabulary);
    cse_graph *graph = cse_graph_new(1, 1);
    cse_status status = cse_step_trace_graph(session, graph, trace, t, &step);
    if (status == CSE_OK)
        status = cse_passes_run(graph, NULL);
    if (status == CSE_OK)
        status = cse_executable_interpret(graph, &executable);
    if (status == CSE_OK) {
        cse_straight_run run;
        unsigned char *const inputs[] = { (unsigned char *)tokens };
        cse_straight_run_init(&run, executable, 1);
        set_states(session, &run);
        cse_straight_run_step(&run, inputs);
        memcpy(logits, cse_straight_run_state(&run, "probe.logits"),
               (size_t)(TOKENS * vocabulary) * sizeof *logits);
        cse_straight_run_clear(&run);
    }
    if (executable != NULL)
        cse_executable_destroy(&executable);
    cse_step_destroy(&step);
    free(tokens);
    return status;
}

static cse_status compute(cse_session *session, const cse_job_settings *settings,
                          const cse_probed *probed, float **logits, int64_t *count)
{
    const cse_initializer zero = { CSE_INIT_CONSTANT, 0, 0 };
    const cse_weights_adapters adapters = { .any_base = probed->any_base };
    cse_weights_loading loading = { .whole = true, .adapters = &adapters };
    tracing t = { .model = cse_compile(cse_configured_model(settings->model)) };
    CSE_TRY(cse_session_status());
    const int64_t vocabulary = cse_model_vocabulary(t.model);
    int64_t weights = 0;
    for (int i = 0; i < session->network.state_count; i++)
        weights += cse_shape_elements(session->network.states[i]->shape);
    if (vocabulary < 1 || cse_longest_sequence(t.model) < TOKENS)
        return cse_fail(CSE_USAGE, "the model takes no %d tokens", TOKENS);
    if (weights > most_weights)
        return cse_fail(CSE_USAGE, "the model has more than %" PRId64 " weights", most_weights);
    cse_status status = cse_session_load_weights(session, t.model, probed->path, &loading);
    cse_weights_loading_clear(&loading);
    CSE_TRY(status);
    t.stream = (cse_stream){ "input_ids", cse_shape_of(TOKENS), CSE_INT32 };
    t.logits = cse_state_new("probe.logits", cse_shape_of(TOKENS, vocabulary), CSE_FLOAT32, zero);
    *count = TOKENS * vocabulary;
    *logits = cse_malloc((size_t)*count * sizeof **logits);
    cse_eval_mode(t.model);
    return run_graph(session, &t, *logits);
}

static cse_status logits_of(cse_arena *arena, const cse_probed *probed, float **logits,
                            int64_t *count)
{
    cse_config *config = NULL;
    cse_job_settings settings;
    const cse_config_text text = { .source = probed->path,
                                   .yaml = probed->model,
                                   .kinds = cse_kinds };
    CSE_TRY(cse_config_check(&text, NULL, &config));
    cse_status status = cse_job_settings_read(config, CSE_JOB_INFER, arena, &settings);
    if (status == CSE_OK)
        status = cse_session_configure(&settings.session,
                                       &(cse_session_sections){ .adapters = probed->adapters });
    if (status == CSE_OK)
        status = compute(cse_session_open_view("cse_merged_logits_compare"), &settings, probed,
                         logits, count);
    cse_finish();
    cse_config_destroy(&config);
    return status;
}

void cse_merged_logits_compare(cse_arena *arena, const cse_probed *apart, const cse_probed *merged,
                               cse_merged_logits *result)
{
    float *one = NULL, *other = NULL;
    int64_t count = 0, others = 0;
    double least = INFINITY, most = -INFINITY;
    *result = (cse_merged_logits){ .tokens = TOKENS };
    cse_status status = logits_of(arena, apart, &one, &count);
    if (status == CSE_OK)
        status = logits_of(arena, merged, &other, &others);
    if (status != CSE_OK || count != others)
        result->missing = cse_arena_string(arena, cse_error_message());
    for (int64_t i = 0; i < count && result->missing == NULL; i++) {
        result->largest = fmax(result->largest, fabs((double)one[i] - (double)other[i]));
        least = fmin(least, (double)one[i]);
        most = fmax(most, (double)one[i]);
    }
    result->range = most - least;
    free(one);
    free(other);
}

/* Outputs: values of a step under handles, read where the values of a committed step are handed
 * out, in a closure or in the caller's loop. */
#include <math.h>

#include "engine/base/types/shape.h"
#include "engine/graph/trace/trace.h"
#include "run/session/session.h"

struct cse_output {
    const cse_session *session;
    int64_t trace;        /* the session's, which made `step` */
    const cse_step *step; /* it lives as long as its execution */
    int fetch;            /* in the step's graph */
};

cse_output *cse_step_output(cse_step *step, const char *name, cse_tensor *tensor)
{
    cse_session *session = cse_session_open_view("cse_step_output");
    if (session == NULL)
        return NULL;
    if (step == NULL || session->network.traced != step) {
        cse_network_fail(cse_fail(CSE_USAGE, "cse_step_output: the step is not being traced; call "
                                             "it in the step function"));
        return NULL;
    }
    const int fetch = cse_step_fetch(step, name != NULL ? name : "closure", tensor);
    if (fetch < 0)
        return NULL;
    cse_output *output = cse_arena_alloc(session->arena, sizeof *output);
    *output = (cse_output){
        .session = session, .trace = session->execution.traces, .step = step, .fetch = fetch
    };
    return output;
}

const void *cse_output_view(const cse_output *output, cse_shape *shape, cse_dtype *dtype)
{
    if (output == NULL || output->session->execution.delivered == NULL ||
        output->session->execution.traces != output->trace)
        return NULL;
    const cse_fetch_entry *fetch = &output->step->graph->fetches[output->fetch];
    if (shape != NULL)
        *shape = fetch->value->shape;
    if (dtype != NULL)
        *dtype = fetch->value->dtype;
    return output->session->execution.delivered + fetch->offset_bytes;
}

double cse_output_number(const cse_output *output)
{
    cse_shape shape;
    cse_dtype dtype;
    const void *data = cse_output_view(output, &shape, &dtype);
    if (data == NULL || cse_shape_elements(shape) != 1)
        return (double)NAN;
    return dtype == CSE_INT32 ? (double)*(const int32_t *)data : (double)*(const float *)data;
}

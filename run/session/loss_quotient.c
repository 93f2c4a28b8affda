/* A loss that is a quotient of sums over the global batch: the divisor is known when all
 * microbatches are computed, so that it divides what they made, the mean of the numerator and of
 * its gradients, and not the loss of a microbatch. The handle of such a loss is its numerator; who
 * brings a loss or its gradients to the step's level divides. */
#include "run/session/loss_quotient.h"

#include "csengine/generated/ops.h"
#include "csengine/modules.h"
#include "engine/trace/trace.h"
#include "run/session/traced_step.h"

static cse_step *traced_step(const char *caller)
{
    const cse_session *session = cse_session_tracing_view(caller);
    return session != NULL ? session->traced : NULL;
}

static cse_tensor *keep(cse_step *step, cse_tensor *loss, cse_tensor *count, cse_tensor *divisor)
{
    cse_quotient *entry = cse_arena_alloc(step->graph->arena, sizeof *entry);
    *entry = (cse_quotient){ loss, count, divisor, step->quotients };
    step->quotients = entry;
    return loss;
}

cse_tensor *cse_loss_quotient(cse_step *step, cse_tensor *sum, cse_tensor *count)
{
    step = traced_step("cse_loss_quotient");
    if (step == NULL || cse_trace_is_poison(sum) || cse_trace_is_poison(count))
        return cse_trace_is_poison(sum) ? sum : count;
    if (sum->shape.rank != 0 || count->shape.rank != 0 || sum->dtype != CSE_FLOAT32 ||
        count->dtype != CSE_FLOAT32 || !sum->batch)
        return cse_trace_fail(CSE_SHAPE, "cse_loss_quotient: takes two float32 scalars of the "
                                         "microbatch, a sum of losses and how many count");
    cse_tensor *mean = count->batch ? cse_batch_mean(count) : count;
    cse_tensor *nothing = cse_equal(mean, cse_constant(0));
    return keep(step, sum, count, cse_where(nothing, cse_constant(1), mean));
}

const cse_quotient *cse_quotient_of(const cse_tensor *loss)
{
    const cse_step *step = traced_step("cse_loss_quotient");
    const cse_quotient *entry = step != NULL ? step->quotients : NULL;
    while (entry != NULL && entry->loss != loss)
        entry = entry->next;
    return entry;
}

cse_tensor *cse_quotient_keep(const cse_tensor *loss, cse_tensor *scaled)
{
    const cse_quotient *entry = cse_quotient_of(loss);
    return entry != NULL && scaled != loss
               ? keep(traced_step("cse_loss_quotient"), scaled, entry->count, entry->divisor)
               : scaled;
}

cse_tensor *cse_quotient_divide(const cse_tensor *loss, cse_tensor *mean)
{
    const cse_quotient *entry = cse_quotient_of(loss);
    return entry != NULL ? cse_div(mean, entry->divisor) : mean;
}

void cse_loss_of_tokens(cse_step *step, cse_tensor *sum, cse_tensor *weights)
{
    step = traced_step("cse_loss_of_tokens");
    if (step == NULL)
        return;
    step->token_losses = sum;
    step->token_weights = weights;
}

/* The gradient scaler: its states, and the calls that trace its part of a step.
 *
 * Within one step the calls have an order: the loss is scaled, all gradients are unscaled, their
 * squares say whether all are finite, optimizers step under that condition, the scale is updated.
 * What was traced so far is kept with the number of the trace, since a scaler outlives a step. */
#include "engine/nn/update/grad_scaler.h"

#include "csengine/generated/ops.h"
#include "engine/base/log.h"
#include "engine/graph/ops/loss_quotient.h"
#include "engine/graph/precision/precision.h"
#include "engine/graph/trace/trace.h"
#include "engine/nn/update/gradients.h"

/* A gradient that was unscaled in this step. */
typedef struct unscaled {
    const char *name;    /* of its state; NULL: unknown */
    cse_tensor *squares; /* the sum over its elements */
    struct unscaled *next;
} unscaled;

struct cse_grad_scaler {
    cse_scaler_settings settings;
    cse_state *loss_scale, *steps_since_rescale, *overflows_since_rescale, *num_skipped_steps;
    /* In the trace with this number: */
    uint64_t trace;
    unscaled *first, **last;
    int count;
    cse_tensor *squares, *finite; /* of all unscaled gradients; finite: NULL until it is asked */
    bool updated;
};

/* ---- construction ---- */

static cse_state *scaler_state(const char *name, cse_dtype dtype, double initial)
{
    return cse_network_state(
        &(cse_state_options){ .shape = cse_scalar_shape,
                              .dtype = dtype,
                              .initializer = { CSE_INIT_CONSTANT, initial, 0 } },
        "grad_scaler.%s", name);
}

/* A loss scale of 0 asks for none. */
static bool scales(const cse_grad_scaler *scaler)
{
    return scaler->settings.dynamic || scaler->settings.loss_scale > 0;
}

cse_grad_scaler *cse_configured_grad_scaler(cse_yaml_node *tree)
{
    const cse_settings *settings = NULL;
    cse_network *network = cse_network_open_view("cse_grad_scaler_new");
    if (network == NULL)
        return NULL;
    if (network->scaler_tree != NULL && network->scaler_tree != tree) {
        cse_network_fail(cse_fail(CSE_CONFIG, "grad_scaler: the session's precision has a "
                                              "loss_scaling_factor already; keep one of them"));
        return NULL;
    }
    cse_grad_scaler *scaler = cse_arena_alloc(network->arena, sizeof *scaler);
    cse_status status = cse_network_check(cse_scaler_setting_table, "grad_scaler", tree, &settings);
    if (status == CSE_OK)
        status = cse_scaler_settings_read(
            settings, network->precision != NULL ? network->precision->low : CSE_FLOAT32,
            &scaler->settings);
    if (status != CSE_OK) {
        cse_network_fail(status);
        return NULL;
    }
    if (!scales(scaler))
        return scaler;
    scaler->loss_scale = scaler_state("loss_scale", CSE_FLOAT32, scaler->settings.loss_scale);
    scaler->steps_since_rescale = scaler_state("steps_since_rescale", CSE_INT32, 0);
    scaler->overflows_since_rescale = scaler_state("overflows_since_rescale", CSE_INT32, 0);
    scaler->num_skipped_steps = scaler_state("num_skipped_steps", CSE_INT32, 0);
    return network->error == CSE_OK ? scaler : NULL;
}

cse_grad_scaler *cse_grad_scaler_new(const char *settings)
{
    cse_yaml_node *tree = cse_network_text("cse_grad_scaler_new", "grad_scaler", settings);
    return tree != NULL ? cse_configured_grad_scaler(tree) : NULL;
}

/* ---- what it is ---- */

cse_grad_scaler *cse_grad_scaler_meant(const cse_network *network, cse_grad_scaler *scaler)
{
    if (scaler == NULL)
        scaler = network->scaler;
    return scaler != NULL && scales(scaler) ? scaler : NULL;
}

bool cse_grad_scaler_is_dynamic(const cse_grad_scaler *scaler)
{
    return scaler != NULL && scaler->settings.dynamic;
}

double cse_grad_scaler_norm(const cse_grad_scaler *scaler)
{
    return cse_grad_scaler_is_dynamic(scaler) ? scaler->settings.max_gradient_norm : 0;
}

/* A static scale is a constant; the scale in a loaded checkpoint is ignored. */
static cse_tensor *scale_of(const cse_grad_scaler *scaler)
{
    return scaler->settings.dynamic ? cse_read(scaler->loss_scale)
                                    : cse_constant(scaler->settings.loss_scale);
}

/* ---- tracing ---- */

/* The scaler that a traced call means, with the record of this step. False: nothing is traced, or
 * the scaler's part of the step is over. */
static bool begin_call(const char *caller, cse_grad_scaler **scaler)
{
    const cse_network *network = cse_network_tracing_view(caller);
    if (network == NULL)
        return false;
    *scaler = cse_grad_scaler_meant(network, *scaler);
    cse_grad_scaler *s = *scaler;
    if (s == NULL)
        return true;
    if (s->trace != network->trace_count) {
        s->trace = network->trace_count;
        s->first = NULL;
        s->last = &s->first;
        s->count = 0;
        s->squares = s->finite = NULL;
        s->updated = false;
    }
    if (s->updated)
        cse_trace_fail(CSE_USAGE,
                       "%s: the scale was updated in this step already (cse_grad_scaler_update, or "
                       "cse_optimizer_step): scale, unscale and step everything before; "
                       "a scaler for several optimizers is used by these calls alone",
                       caller);
    return !s->updated;
}

cse_tensor *cse_grad_scaler_scale(cse_grad_scaler *scaler, cse_tensor *loss)
{
    if (!begin_call("cse_grad_scaler_scale", &scaler))
        return cse_trace_graph() ? cse_trace_graph()->poison : NULL;
    return scaler != NULL && !cse_trace_is_poison(loss)
               ? cse_quotient_keep(loss, cse_mul(loss, scale_of(scaler)))
               : loss;
}

static void keep_squares(cse_grad_scaler *scaler, const char *name, cse_tensor *gradient)
{
    unscaled *entry = cse_arena_alloc(cse_trace_graph()->arena, sizeof *entry);
    *entry = (unscaled){ .name = name, .squares = cse_sum_all(cse_square(gradient)) };
    *scaler->last = entry;
    scaler->last = &entry->next;
    scaler->count++;
    scaler->squares =
        scaler->squares != NULL ? cse_add(scaler->squares, entry->squares) : entry->squares;
}

void cse_grad_scaler_unscale(cse_grad_scaler *scaler, cse_tensor *gradients[], int count)
{
    const char *caller = "cse_grad_scaler_unscale";
    if (!begin_call(caller, &scaler) || scaler == NULL)
        return;
    if (scaler->finite != NULL) {
        cse_trace_fail(CSE_USAGE,
                       "%s: an optimizer has stepped, or cse_grad_scaler_finite was asked, before "
                       "these gradients were unscaled: unscale all gradients first",
                       caller);
        return;
    }
    cse_tensor *reciprocal = cse_reciprocal(scale_of(scaler));
    for (int i = 0; i < count; i++) {
        if (gradients[i] == NULL || cse_trace_is_poison(gradients[i]))
            continue;
        const char *name = cse_gradient_name_view(gradients[i]);
        gradients[i] = cse_mul(gradients[i], reciprocal);
        if (!cse_trace_is_poison(gradients[i]))
            keep_squares(scaler, name, gradients[i]);
    }
}

cse_tensor *cse_grad_scaler_finite(cse_grad_scaler *scaler)
{
    if (!begin_call("cse_grad_scaler_finite", &scaler))
        return cse_trace_graph() ? cse_trace_graph()->poison : NULL;
    if (scaler == NULL || scaler->count == 0)
        return cse_equal(cse_constant_int(0), cse_constant_int(0));
    if (scaler->finite == NULL)
        scaler->finite = cse_is_finite(scaler->squares);
    return scaler->finite;
}

cse_tensor *const *cse_grad_scaler_clip(cse_grad_scaler *scaler, const cse_optimizer *optimizer,
                                        cse_tensor *const gradients[])
{
    const double norm = cse_grad_scaler_norm(scaler);
    const cse_network *network = cse_network_tracing_view("cse_grad_scaler_step");
    if (norm == 0 || optimizer == NULL || network->traced->clipped ||
        scaler->trace != network->trace_count || scaler->count == 0)
        return gradients;
    cse_tensor **clipped = cse_arena_alloc(network->traced->graph->arena,
                                           ((size_t)optimizer->count + 1) * sizeof(cse_tensor *));
    cse_tensor *factor = cse_clip_factor(scaler->squares, norm);
    for (int i = 0; i < optimizer->count; i++)
        clipped[i] = gradients[i] != NULL ? cse_mul(gradients[i], factor) : NULL;
    return clipped;
}

void cse_assign_if(cse_tensor *finite, cse_state *state, cse_tensor *next)
{
    if (finite != NULL)
        next = cse_where(finite, next, cse_read(state));
    cse_assign(state, next);
}

/* Fetched for the error message when the loss scale is exhausted. */
static void watch(cse_step *step, const cse_grad_scaler *scaler, cse_tensor *exhausted)
{
    cse_arena *arena = step->graph->arena;
    int at = 0;
    if (step->exhausted_fetch >= 0) {
        cse_trace_fail(CSE_USAGE,
                       "cse_grad_scaler_update: a step has one scaler with a dynamic loss scale; "
                       "use one for all optimizers");
        return;
    }
    step->exhausted_fetch = cse_step_fetch(step, "grad_scaler.exhausted", exhausted);
    step->least_loss_scale = scaler->settings.min_loss_scale;
    step->gradient_fetches = cse_arena_alloc(arena, (size_t)scaler->count * sizeof(int));
    step->gradient_names = cse_arena_alloc(arena, (size_t)scaler->count * sizeof(char *));
    for (const unscaled *entry = scaler->first; entry != NULL; entry = entry->next, at++) {
        const char *own =
            entry->name != NULL ? entry->name : cse_arena_printf(arena, "gradient %d", at);
        const char *name = cse_arena_printf(arena, "gradient_squares.%s", cse_short_name(own));
        step->gradient_fetches[at] = cse_step_fetch(step, name, entry->squares);
        step->gradient_names[at] = own;
    }
    step->gradient_count = scaler->count;
}

void cse_grad_scaler_update(cse_grad_scaler *scaler)
{
    const char *caller = "cse_grad_scaler_update";
    cse_tensor *exhausted = NULL;
    if (!begin_call(caller, &scaler) || scaler == NULL)
        return;
    cse_step *step = cse_network_tracing_view(caller)->traced;
    if (scaler->count == 0) {
        cse_trace_fail(CSE_USAGE,
                       "%s: no gradient was unscaled in this step (cse_grad_scaler_unscale), so "
                       "that nothing says whether the scale fits",
                       caller);
        return;
    }
    cse_tensor *finite = cse_grad_scaler_finite(scaler);
    const cse_scaler_values next = cse_scaler_next(
        &scaler->settings,
        (cse_scaler_values){ cse_read(scaler->loss_scale), cse_read(scaler->steps_since_rescale),
                             cse_read(scaler->overflows_since_rescale),
                             cse_read(scaler->num_skipped_steps) },
        finite, &exhausted);
    const cse_loss_scale_log log = step->network->loss_scale_log;
    if (step->network->fetches_metrics &&
        (log == CSE_LOG_ALWAYS || (log == CSE_LOG_WHERE_DYNAMIC && scaler->settings.dynamic)))
        cse_step_fetch(step, "loss_scale", scale_of(scaler));
    if (step->network->fetches_metrics)
        cse_step_fetch(step, "skipped_steps", cse_cast(next.num_skipped_steps, CSE_FLOAT32));
    cse_assign(scaler->loss_scale, next.loss_scale);
    cse_assign(scaler->steps_since_rescale, next.steps_since_rescale);
    cse_assign(scaler->overflows_since_rescale, next.overflows_since_rescale);
    cse_assign(scaler->num_skipped_steps, next.num_skipped_steps);
    scaler->updated = true;
    step->training = true;
    if (exhausted != NULL)
        watch(step, scaler, exhausted);
}

/* A scaler is part of training: a network without an optimizer has none. */
cse_status cse_network_settle_precision(cse_network *network)
{
    if (network->scaler_tree != NULL && network->scaler == NULL && network->has_optimizer)
        network->scaler = cse_configured_grad_scaler(network->scaler_tree);
    return network->error == CSE_OK ? CSE_OK : cse_network_status("cse_session_status");
}

/* The least value of cbfloat16 is 2^-39; gradients of a mean loss lie far below it, and no fixed
 * scale fits a whole run. */
void cse_network_warn_of_precision(cse_network *network, bool dynamic)
{
    const cse_precision *precision = network->precision;
    if (network->warned_of_precision || dynamic || precision == NULL ||
        precision->low != CSE_CBFLOAT16 || precision->preset == 0)
        return;
    network->warned_of_precision = true;
    cse_log_line(CSE_LOG_WARNING,
                 "precision.fp16_type: cbfloat16 without loss_scaling_factor: dynamic; gradients "
                 "below the format's least value, 2^-39, become 0, and no fixed scale keeps all "
                 "above it");
}

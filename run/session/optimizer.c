/* The optimizer's states, and the traced update of a training step: gradients, unscaling, clipping,
 * learning rate, the optimizer's rule, and the update of the loss scale. */
#include <stdio.h>
#include <string.h>

#include "csengine/generated/ops.h"
#include "engine/base/registry.h"
#include "engine/precision/precision.h"
#include "engine/trace/trace.h"
#include "run/session/configured.h"

struct cse_grad_scaler {
    cse_scaler_settings settings;
    cse_state *loss_scale, *steps_since_rescale, *overflows_since_rescale, *num_skipped_steps;
};

/* ---- construction ---- */

/* model.fc.weight -> fc.weight */
static const char *short_name(const cse_state *parameter)
{
    const char *prefix = "model.";
    size_t length = strlen(prefix);
    return strncmp(parameter->name, prefix, length) == 0 ? parameter->name + length
                                                         : parameter->name;
}

static cse_shape shape_of(const cse_declared_state *declared, cse_shape parameter)
{
    cse_shape shape = cse_scalar_shape;
    for (int axis = 0; !declared->scalar && axis < parameter.rank; axis++)
        if ((declared->without_axes >> axis & 1U) == 0)
            shape.dims[shape.rank++] = parameter.dims[axis];
    return shape;
}

static void declare_states(cse_session *session, cse_optimizer *optimizer)
{
    cse_declared_state states[CSE_MAX_DECLARED_STATES];
    const int parameters = cse_parameter_tensors(optimizer->model);
    int next = 0, most = parameters * CSE_MAX_DECLARED_STATES;
    optimizer->states = cse_arena_alloc(session->arena, (size_t)most * sizeof *optimizer->states);
    optimizer->first_state =
        cse_arena_alloc(session->arena, ((size_t)parameters + 1) * sizeof *optimizer->first_state);
    for (int p = 0; p < parameters; p++) {
        const cse_state *parameter = cse_parameter_at(optimizer->model, p);
        int count = optimizer->descriptor->states(optimizer->settings, parameter->shape, states);
        for (int s = 0; s < count; s++)
            optimizer->states[next++] = cse_session_state(
                &(cse_state_options){ .shape = shape_of(&states[s], parameter->shape),
                                      .dtype = CSE_FLOAT32,
                                      .initializer = { CSE_INIT_CONSTANT, states[s].initial, 0 } },
                "optimizer.%s.%s", short_name(parameter), states[s].name);
        optimizer->first_state[p + 1] = next;
    }
}

/* With weights in bfloat16: marks the parameters, and for bf16_kahan declares a compensation state
 * for each. */
static void declare_weights(cse_session *session, cse_optimizer *optimizer)
{
    int parameters = cse_parameter_tensors(optimizer->model);
    if (session->weight_update == CSE_WEIGHT_FP32)
        return;
    if (session->weight_update == CSE_WEIGHT_BF16_KAHAN)
        optimizer->compensations =
            cse_arena_alloc(session->arena, (size_t)parameters * sizeof *optimizer->compensations);
    for (int p = 0; p < parameters; p++) {
        cse_state *parameter = cse_parameter_at(optimizer->model, p);
        cse_state_hold_bfloat16(parameter);
        if (optimizer->compensations != NULL)
            optimizer->compensations[p] = cse_session_state(
                &(cse_state_options){ .shape = parameter->shape,
                                      .dtype = CSE_FLOAT32,
                                      .initializer = { CSE_INIT_CONSTANT, 0, 0 } },
                "optimizer.%s.compensation", short_name(parameter));
    }
}

static cse_status make_optimizer(cse_session *session, cse_optimizer *optimizer)
{
    const cse_settings *settings = optimizer->settings;
    if (cse_settings_has(settings, "lr") && cse_settings_has(settings, "learning_rate"))
        return cse_fail(CSE_CONFIG,
                        "optimizer %s: lr (%s) and learning_rate (%s) mean the same; give one",
                        optimizer->descriptor->name, cse_settings_origin(settings, "lr"),
                        cse_settings_origin(settings, "learning_rate"));
    if (optimizer->descriptor->check != NULL)
        CSE_TRY(optimizer->descriptor->check(settings));
    declare_states(session, optimizer);
    declare_weights(session, optimizer);
    session->has_optimizer = true;
    session->optimizer_name = optimizer->descriptor->name;
    return session->error;
}

cse_optimizer *cse_session_optimizer_new(const cse_config_plugin *plugin, cse_model *model)
{
    cse_session *session = cse_session_open_view("cse_configure_optimizer");
    if (session == NULL || model == NULL)
        return NULL;
    cse_optimizer *optimizer = cse_arena_alloc(session->arena, sizeof *optimizer);
    optimizer->model = model;
    optimizer->descriptor = plugin->descriptor;
    optimizer->settings = plugin->settings;
    cse_status status = make_optimizer(session, optimizer);
    if (status == CSE_OK)
        return optimizer;
    cse_session_fail(status);
    return NULL;
}

static cse_status parse_optimizer(const char *name, const char *yaml, cse_config_plugin *plugin)
{
    char subject[128];
    CSE_TRY(cse_registry_get_any_case(cse_optimizers, "optimizer", name, &plugin->descriptor));
    snprintf(subject, sizeof subject, "optimizer %s", name);
    CSE_TRY(cse_session_parse(subject, yaml, &plugin->tree));
    return cse_session_check(((const cse_optimizer_descriptor *)plugin->descriptor)->settings,
                             subject, plugin->tree, &plugin->settings);
}

cse_optimizer *cse_configure_optimizer(const char *name, cse_model *model, const char *settings)
{
    cse_config_plugin plugin = { .name = name };
    if (cse_session_open_view("cse_configure_optimizer") == NULL || model == NULL)
        return NULL;
    cse_status status = parse_optimizer(name, settings, &plugin);
    if (status == CSE_OK)
        return cse_session_optimizer_new(&plugin, model);
    cse_session_fail(status);
    return NULL;
}

static cse_state *scaler_state(const char *name, cse_dtype dtype, double initial)
{
    return cse_session_state(
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

cse_grad_scaler *cse_session_grad_scaler_new(cse_yaml_node *tree)
{
    const cse_settings *settings = NULL;
    cse_session *session = cse_session_open_view("cse_grad_scaler_new");
    if (session == NULL)
        return NULL;
    if (session->scaler_tree != NULL && session->scaler_tree != tree) {
        cse_session_fail(cse_fail(CSE_CONFIG, "grad_scaler: the session's precision has a "
                                              "loss_scaling_factor already; keep one of them"));
        return NULL;
    }
    cse_grad_scaler *scaler = cse_arena_alloc(session->arena, sizeof *scaler);
    cse_status status = cse_session_check(cse_scaler_setting_table, "grad_scaler", tree, &settings);
    if (status == CSE_OK)
        status = cse_scaler_settings_read(
            settings, session->precision != NULL ? session->precision->low : CSE_FLOAT32,
            &scaler->settings);
    if (status != CSE_OK) {
        cse_session_fail(status);
        return NULL;
    }
    if (!scales(scaler))
        return scaler;
    scaler->loss_scale = scaler_state("loss_scale", CSE_FLOAT32, scaler->settings.loss_scale);
    scaler->steps_since_rescale = scaler_state("steps_since_rescale", CSE_INT32, 0);
    scaler->overflows_since_rescale = scaler_state("overflows_since_rescale", CSE_INT32, 0);
    scaler->num_skipped_steps = scaler_state("num_skipped_steps", CSE_INT32, 0);
    return session->error == CSE_OK ? scaler : NULL;
}

cse_grad_scaler *cse_grad_scaler_new(const char *settings)
{
    cse_yaml_node *tree = cse_session_text("cse_grad_scaler_new", "grad_scaler", settings);
    return tree != NULL ? cse_session_grad_scaler_new(tree) : NULL;
}

/* ---- tracing ---- */

typedef struct update {
    cse_optimizer *optimizer;
    cse_grad_scaler *scaler;
    cse_clip clip;
    bool stochastic; /* rounding of weights */
    int count;
    cse_state **parameters;
    cse_tensor **gradients, **squares; /* of each parameter; squares: sums of squares */
    cse_tensor *learning_rate;
    cse_tensor *weight_decay; /* NULL without a schedule for it */
    cse_tensor *finite;       /* NULL without a scaler */
    cse_tensor *all_squares;  /* sum over all gradients, unscaled; NULL when not needed */
} update;

/* A static scale is a constant; the scale in a loaded checkpoint is ignored. */
static cse_tensor *scale_of(const cse_grad_scaler *scaler)
{
    return scaler->settings.dynamic ? cse_read(scaler->loss_scale)
                                    : cse_constant(scaler->settings.loss_scale);
}

static void trace_gradients(update *u, cse_tensor *loss)
{
    cse_graph *graph = cse_trace_graph();
    cse_tensor *scaled = u->scaler ? cse_mul(loss, scale_of(u->scaler)) : loss;
    cse_tensor *unscale = u->scaler ? cse_reciprocal(scale_of(u->scaler)) : NULL;
    for (int i = 0; i < u->count; i++) {
        cse_tensor *state = cse_graph_state_node(graph, cse_state_bind(graph, u->parameters[i]));
        cse_tensor *gradient = cse_trace_2(&cse_op_gradient, NULL, scaled, state);
        gradient = cse_batch_mean_named(gradient, u->parameters[i]->name);
        u->gradients[i] = unscale ? cse_mul(gradient, unscale) : gradient;
    }
}

static void trace_clipping(update *u)
{
    cse_tensor *squares = NULL;
    if (u->scaler != NULL || u->clip.max_norm > 0)
        squares = cse_sum_of_squares(u->gradients, u->count, u->squares);
    if (u->scaler != NULL)
        u->finite = cse_is_finite(squares);
    u->all_squares = squares;
    cse_tensor *factor = u->clip.max_norm > 0 ? cse_clip_factor(squares, u->clip.max_norm) : NULL;
    for (int i = 0; i < u->count; i++) {
        if (factor != NULL)
            u->gradients[i] = cse_mul(u->gradients[i], factor);
        if (u->clip.max_value > 0)
            u->gradients[i] = cse_clip_to_value(u->gradients[i], u->clip.max_value);
    }
}

static cse_tensor *learning_rate_of(const cse_optimizer *optimizer)
{
    const cse_settings *settings = optimizer->settings;
    if (optimizer->schedule != NULL)
        return cse_schedule_part_rate(optimizer->schedule->part,
                                      cse_read(optimizer->schedule->last_epoch));
    if (cse_settings_has(settings, "lr"))
        return cse_constant(cse_settings_number(settings, "lr"));
    if (cse_settings_has(settings, "learning_rate"))
        return cse_constant(cse_settings_number(settings, "learning_rate"));
    if (optimizer->descriptor->default_learning_rate > 0)
        return cse_constant(optimizer->descriptor->default_learning_rate);
    return cse_trace_fail(CSE_CONFIG, "optimizer %s: no learning rate: give it lr, or a schedule",
                          optimizer->descriptor->name);
}

static cse_tensor *weight_decay_of(const cse_optimizer *optimizer)
{
    const cse_schedule *schedule = optimizer->schedule;
    if (schedule == NULL || schedule->weight_decay == NULL)
        return NULL;
    return cse_schedule_part_rate(schedule->weight_decay, cse_read(schedule->last_epoch));
}

/* A step whose gradients are not finite leaves the state unchanged. */
static void assign_if_finite(const update *u, cse_state *state, cse_tensor *next)
{
    if (u->finite != NULL)
        next = cse_where(u->finite, next, cse_read(state));
    cse_assign(state, next);
}

static cse_tensor *in_bfloat16(cse_tensor *x)
{
    return cse_cast(cse_cast(x, CSE_BFLOAT16), CSE_FLOAT32);
}

/* Stores the weight, rounded if it is bfloat16. With Kahan compensation the rounding error is kept
 * and added before the next update (Kahan, "Pracniques: further remarks on reducing truncation
 * errors", CACM 8, 1965). */
static void assign_weight(const update *u, int index, cse_tensor *next)
{
    cse_state *parameter = u->parameters[index];
    cse_tensor *kept = next;
    char stream[600];
    snprintf(stream, sizeof stream, "%s.rounding", parameter->name);
    if (parameter->bfloat16)
        kept = u->stochastic ? cse_stochastic_round(next, CSE_BFLOAT16, stream) : in_bfloat16(next);
    assign_if_finite(u, parameter, kept);
    if (u->optimizer->compensations != NULL)
        assign_if_finite(u, u->optimizer->compensations[index], in_bfloat16(cse_sub(next, kept)));
}

static cse_tensor *whole_weight(const update *u, int index)
{
    cse_tensor *weight = cse_read(u->parameters[index]);
    return u->optimizer->compensations != NULL
               ? cse_add(weight, cse_read(u->optimizer->compensations[index]))
               : weight;
}

static void trace_parameter(const update *u, int index)
{
    const cse_optimizer *optimizer = u->optimizer;
    cse_state **states = optimizer->states + optimizer->first_state[index];
    const int count = optimizer->first_state[index + 1] - optimizer->first_state[index];
    cse_optimizer_update one = { .settings = optimizer->settings,
                                 .parameter = whole_weight(u, index),
                                 .gradient = u->gradients[index],
                                 .learning_rate = u->learning_rate,
                                 .weight_decay = u->weight_decay };
    for (int s = 0; s < count; s++)
        one.states[s] = cse_read(states[s]);
    optimizer->descriptor->update(&one);
    assign_weight(u, index, one.next_parameter);
    for (int s = 0; s < count; s++)
        if (one.next_states[s] != NULL)
            assign_if_finite(u, states[s], one.next_states[s]);
}

static void trace_scaler(cse_step *step, const update *u)
{
    cse_tensor *exhausted = NULL;
    cse_grad_scaler *scaler = u->scaler;
    const cse_scaler_values next = cse_scaler_next(
        &scaler->settings,
        (cse_scaler_values){ cse_read(scaler->loss_scale), cse_read(scaler->steps_since_rescale),
                             cse_read(scaler->overflows_since_rescale),
                             cse_read(scaler->num_skipped_steps) },
        u->finite, &exhausted);
    cse_assign(scaler->loss_scale, next.loss_scale);
    cse_assign(scaler->steps_since_rescale, next.steps_since_rescale);
    cse_assign(scaler->overflows_since_rescale, next.overflows_since_rescale);
    cse_assign(scaler->num_skipped_steps, next.num_skipped_steps);
    if (exhausted == NULL)
        return;
    /* Fetched for the error message when the loss scale is exhausted. */
    cse_arena *arena = step->graph->arena;
    step->exhausted_fetch = cse_step_fetch(step, "grad_scaler.exhausted", exhausted);
    step->least_loss_scale = scaler->settings.min_loss_scale;
    step->gradient_fetches = cse_arena_alloc(arena, (size_t)u->count * sizeof(int));
    step->gradient_names = cse_arena_alloc(arena, (size_t)u->count * sizeof(char *));
    for (int i = 0; i < u->count; i++) {
        const char *name =
            cse_arena_printf(arena, "gradient_squares.%s", short_name(u->parameters[i]));
        step->gradient_fetches[i] = cse_step_fetch(step, name, u->squares[i]);
        step->gradient_names[i] = u->parameters[i]->name;
    }
    step->gradient_count = u->count;
}

/* Fetches metrics that the step computes in any case: learning rate, loss scale, gradient norm. */
static void fetch_metrics(cse_step *step, const update *u)
{
    if (u->optimizer->schedule != NULL)
        cse_step_fetch(step, "lr/0", u->learning_rate);
    if (u->weight_decay != NULL)
        cse_step_fetch(step, "weight_decay/0", u->weight_decay);
    if (u->scaler != NULL && u->scaler->settings.dynamic)
        cse_step_fetch(step, "loss_scale", scale_of(u->scaler));
    if (u->all_squares != NULL)
        cse_step_fetch(step, "grad_norm", cse_sqrt(u->all_squares));
}

static bool may_step(const cse_step *step, const cse_tensor *loss, const cse_optimizer *optimizer,
                     const cse_clip *clip)
{
    char shape[128];
    const char *name = "cse_optimizer_step";
    if (optimizer == NULL)
        cse_trace_fail(CSE_USAGE, "%s: there is no optimizer", name);
    else if (step->training)
        cse_trace_fail(CSE_USAGE, "%s: a step has one optimizer step; this is the second", name);
    else if (clip->max_norm > 0 && clip->max_value > 0)
        cse_trace_fail(CSE_USAGE, "%s: max_norm and max_value exclude each other", name);
    else if (!(clip->max_norm >= 0) || !(clip->max_value >= 0))
        cse_trace_fail(CSE_USAGE, "%s: max_norm and max_value must not be negative", name);
    else if (loss->shape.rank != 0 || loss->dtype != CSE_FLOAT32)
        cse_trace_fail(CSE_SHAPE, "%s: the loss must be a float32 scalar, not %s %s: take its mean",
                       name, cse_shape_text(loss->shape, shape, sizeof shape),
                       cse_dtype_name(loss->dtype));
    else if (!loss->batch)
        cse_trace_fail(CSE_SHAPE, "%s: the loss does not depend on the batch", name);
    else
        return true;
    return false;
}

void cse_optimizer_step(cse_step *step, cse_tensor *loss, cse_optimizer *optimizer,
                        cse_grad_scaler *scaler, const cse_clip *clip)
{
    cse_session *session = step->session;
    if (scaler == NULL)
        scaler = session->scaler;
    if (scaler != NULL && !scales(scaler))
        scaler = NULL;
    cse_session_warn_of_precision(session, scaler != NULL && scaler->settings.dynamic);
    update u = { .optimizer = optimizer,
                 .scaler = scaler,
                 .clip = clip != NULL ? *clip : session->clip,
                 .stochastic = session->weight_update == CSE_WEIGHT_BF16SR };
    if (cse_trace_is_poison(loss) || !may_step(step, loss, optimizer, &u.clip))
        return;
    u.count = cse_parameter_tensors(optimizer->model);
    u.parameters = cse_arena_alloc(session->arena, (size_t)u.count * sizeof *u.parameters);
    u.gradients = cse_arena_alloc(session->arena, (size_t)u.count * sizeof *u.gradients);
    u.squares = cse_arena_alloc(session->arena, (size_t)u.count * sizeof *u.squares);
    for (int i = 0; i < u.count; i++)
        u.parameters[i] = cse_parameter_at(optimizer->model, i);
    cse_scope_enter(step, "optimizer");
    trace_gradients(&u, loss);
    trace_clipping(&u);
    u.learning_rate = learning_rate_of(optimizer);
    u.weight_decay = weight_decay_of(optimizer);
    for (int i = 0; i < u.count; i++) {
        cse_scope_enter(step, short_name(u.parameters[i]));
        trace_parameter(&u, i);
        cse_scope_leave(step, short_name(u.parameters[i]));
    }
    if (optimizer->schedule != NULL) {
        cse_state *clock = optimizer->schedule->last_epoch;
        assign_if_finite(&u, clock, cse_add(cse_read(clock), cse_constant_int(1)));
    }
    if (session->fetches_metrics)
        fetch_metrics(step, &u);
    if (scaler != NULL)
        trace_scaler(step, &u);
    cse_scope_leave(step, "optimizer");
    step->training = true;
}

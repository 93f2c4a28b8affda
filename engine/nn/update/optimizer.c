/* The optimizer, and the traced update of a training step: gradients, unscaling, clipping, learning
 * rate, the optimizer's rule, and the update of the loss scale. cse_optimizer_step is made of the
 * same parts that programs call one by one. */
#include <stdio.h>
#include <string.h>

#include "csengine/generated/ops.h"
#include "engine/base/config/settings.h"
#include "engine/graph/precision/precision.h"
#include "engine/graph/trace/trace.h"
#include "engine/nn/plugin_find.h"
#include "engine/nn/update/grad_scaler.h"
#include "engine/nn/update/gradients.h"
#include "engine/nn/update/moments.h"
#include "engine/nn/update/parameter_groups.h"
#include "engine/nn/update/selective_gradients.h"
#include "engine/nn/update/sparsity.h"
#include "engine/nn/update/weight_average.h"

/* ---- construction ---- */

static cse_optimizer *make_optimizer(const cse_config_plugin *plugin, cse_model *model,
                                     cse_state_list parameters, bool spares)
{
    cse_network *network = cse_network_open_view("cse_configure_optimizer");
    if (network == NULL)
        return NULL;
    cse_optimizer *optimizer = cse_arena_alloc(network->arena, sizeof *optimizer);
    optimizer->model = model;
    optimizer->descriptor = plugin->descriptor;
    optimizer->settings = plugin->settings;
    optimizer->tree = plugin->tree;
    optimizer->spares = spares;
    CSE_GROW(network->optimizers, network->optimizer_count, network->optimizer_capacity);
    network->optimizers[network->optimizer_count] = optimizer;
    cse_status status = cse_optimizer_divide(network, optimizer, parameters);
    network->optimizer_count++; /* it is released in any case */
    if (status != CSE_OK) {
        cse_network_fail(status);
        return NULL;
    }
    network->has_optimizer = true;
    network->optimizer_name = optimizer->descriptor->name;
    return optimizer;
}

static cse_optimizer *optimizer_of_model(const cse_config_plugin *plugin, cse_model *model,
                                         bool spares)
{
    const cse_network *network = cse_network_open_view("cse_configure_optimizer");
    if (network == NULL || model == NULL)
        return NULL;
    const int count = cse_parameter_tensors(model);
    cse_state **states = cse_arena_alloc(network->arena, ((size_t)count + 1) * sizeof *states);
    for (int i = 0; i < count; i++)
        states[i] = cse_parameter_at(model, i);
    return make_optimizer(plugin, model, (cse_state_list){ states, count }, spares);
}

cse_optimizer *cse_configured_optimizer(const cse_config_plugin *plugin, cse_model *model)
{
    return optimizer_of_model(plugin, model, true);
}

static cse_status parse_optimizer(const char *name, const char *yaml, cse_config_plugin *plugin)
{
    char subject[128];
    cse_plugin_wanted wanted = {
        .kind = "optimizer", .name = name, .table = cse_optimizers, .any_case = true
    };
    snprintf(subject, sizeof subject, "optimizer %s", name);
    CSE_TRY(cse_network_parse(subject, yaml, &plugin->tree));
    CSE_TRY(cse_network_take_library(plugin->tree, &wanted.library));
    CSE_TRY(cse_network_plugin_find(&wanted, &plugin->descriptor, NULL));
    return cse_network_check(((const cse_optimizer_descriptor *)plugin->descriptor)->settings,
                             subject, plugin->tree, &plugin->settings);
}

cse_optimizer *cse_configure_optimizer(const char *name, cse_model *model, const char *settings)
{
    cse_config_plugin plugin = { .name = name };
    if (cse_network_open_view("cse_configure_optimizer") == NULL || model == NULL)
        return NULL;
    cse_status status = parse_optimizer(name, settings, &plugin);
    if (status == CSE_OK)
        return optimizer_of_model(&plugin, model, false);
    cse_network_fail(status);
    return NULL;
}

cse_optimizer *cse_optimizer_new(const char *name, cse_state *const states[], int count,
                                 const char *settings)
{
    cse_config_plugin plugin = { .name = name };
    if (cse_network_open_view("cse_optimizer_new") == NULL)
        return NULL;
    cse_status status = parse_optimizer(name, settings, &plugin);
    if (status == CSE_OK)
        return make_optimizer(&plugin, NULL, (cse_state_list){ states, count }, false);
    cse_network_fail(status);
    return NULL;
}

int cse_optimizer_parameter_count(const cse_optimizer *optimizer)
{
    return optimizer != NULL ? optimizer->count : 0;
}

cse_state *cse_optimizer_parameter_at(const cse_optimizer *optimizer, int index)
{
    return optimizer != NULL && index >= 0 && index < optimizer->count
               ? optimizer->optimized[index].parameter
               : NULL;
}

/* ---- tracing ---- */

typedef struct update {
    cse_step *step;
    const cse_optimizer *optimizer;
    cse_tensor *finite; /* NULL without a scaler */
    bool stochastic;    /* rounding of weights */
    cse_sparsity_clock clock;
    struct group_rates {
        cse_tensor *learning_rate;
        cse_tensor *weight_decay, *momentum; /* NULL without a schedule for it */
    } * rates;                               /* of each group */
} update;

/* What the step's function set; NULL: nothing. */
static cse_tensor *set_in_step(const cse_step *step, const cse_parameter_group *group,
                               bool is_decay)
{
    for (const cse_set_rate *set = step->set_rates; set != NULL; set = set->next)
        if (set->group == group && set->is_decay == is_decay)
            return set->rate;
    return NULL;
}

/* Whether the factor of a group is the schedule's to apply. */
static bool adjusts(const cse_schedule_part *part)
{
    bool any = strcmp(part->descriptor->name, "ScalePerParamLR") == 0;
    for (int i = 0; i < part->child_count; i++)
        any = any || adjusts(part->children[i]);
    return any;
}

static cse_tensor *learning_rate_of(const cse_step *step, const cse_optimizer *optimizer,
                                    const cse_parameter_group *group)
{
    double rate = 0;
    const double factor = group->adjust_learning_rate;
    cse_tensor *set = set_in_step(step, group, false);
    if (set != NULL)
        return set;
    if (group->rate != NULL) {
        cse_tensor *part =
            cse_schedule_part_rate(group->rate, cse_read(optimizer->schedule->last_epoch));
        return factor == 1 || adjusts(group->rate) ? part : cse_scale(part, factor);
    }
    if (cse_group_constant_rate(optimizer, group, &rate))
        return cse_constant(rate);
    return cse_trace_fail(CSE_CONFIG, "optimizer %s: no learning rate: give it lr, or a schedule",
                          optimizer->descriptor->name);
}

/* NULL without a schedule. */
static cse_tensor *scheduled(const cse_optimizer *optimizer, cse_schedule_part *part)
{
    return part != NULL ? cse_schedule_part_rate(part, cse_read(optimizer->schedule->last_epoch))
                        : NULL;
}

static cse_tensor *rate_of_parameter(cse_tensor *rate, const cse_state *parameter)
{
    const double factor = parameter->rate_factor;
    return factor == 0 || factor == 1 ? rate : cse_scale(rate, factor);
}

static void trace_rates(update *u)
{
    const cse_optimizer *optimizer = u->optimizer;
    u->rates =
        cse_arena_alloc(u->step->graph->arena, (size_t)optimizer->group_count * sizeof *u->rates);
    for (int g = 0; g < optimizer->group_count; g++) {
        const cse_parameter_group *group = &optimizer->groups[g];
        u->rates[g].learning_rate = learning_rate_of(u->step, optimizer, group);
        u->rates[g].weight_decay = set_in_step(u->step, group, true);
        if (u->rates[g].weight_decay == NULL)
            u->rates[g].weight_decay = scheduled(optimizer, group->weight_decay);
        u->rates[g].momentum = scheduled(optimizer, group->momentum);
    }
}

static cse_tensor *in_bfloat16(cse_tensor *x)
{
    return cse_cast(cse_cast(x, CSE_BFLOAT16), CSE_FLOAT32);
}

/* Stores the weight, rounded if it is bfloat16; `mask` NULL: it is dense. With Kahan compensation
 * the rounding error is kept and added before the next update (Kahan, "Pracniques: further remarks
 * on reducing truncation errors", CACM 8, 1965). */
static void assign_weight(const update *u, int index, cse_tensor *mask, cse_tensor *next)
{
    const cse_optimized *one = &u->optimizer->optimized[index];
    cse_state *parameter = one->parameter;
    cse_tensor *kept = next;
    char stream[600];
    snprintf(stream, sizeof stream, "%s.rounding", parameter->name);
    if (parameter->bfloat16)
        kept = u->stochastic ? cse_stochastic_round(next, CSE_BFLOAT16, stream) : in_bfloat16(next);
    cse_tensor *chosen = cse_selected_or(one, kept, cse_read(parameter));
    cse_tensor *weight = cse_sparsity_apply(mask, chosen);
    cse_average_weight(u->optimizer, parameter, weight, u->finite);
    cse_assign_if(u->finite, parameter, weight);
    if (one->compensation != NULL)
        cse_assign_if(u->finite, one->compensation, in_bfloat16(cse_sub(next, kept)));
}

static cse_tensor *whole_weight(const cse_optimized *one)
{
    cse_tensor *weight = cse_read(one->parameter);
    return one->compensation != NULL ? cse_add(weight, cse_read(one->compensation)) : weight;
}

static cse_tensor *masked_state(const cse_optimized *one, int state, cse_tensor *kept,
                                cse_tensor *value)
{
    return cse_sparsity_apply((one->dense_states >> state & 1U) != 0 ? NULL : kept, value);
}

/* A schedule of the weight decay is for all parameters of its group. */
static const cse_settings *settings_of(const update *u, const cse_optimized *one)
{
    const cse_parameter_group *group = &u->optimizer->groups[one->group];
    const cse_state *parameter = one->parameter;
    const bool is_spared = parameter->of_norm || strstr(parameter->name, "bias") != NULL;
    return is_spared && group->spared != NULL && u->rates[one->group].weight_decay == NULL
               ? group->spared
               : group->settings;
}

static void trace_parameter(const update *u, int index, cse_tensor *gradient)
{
    const cse_optimizer *optimizer = u->optimizer;
    const cse_optimized *one = &optimizer->optimized[index];
    cse_tensor *kept = cse_sparsity_next_mask(&u->clock, optimizer, one->parameter, &gradient);
    cse_optimizer_update next = {
        .settings = settings_of(u, one),
        .parameter = cse_sparsity_apply(kept, cse_selected_or_zero(one, whole_weight(one))),
        .gradient = cse_sparsity_apply(kept, cse_selected_or_zero(one, gradient)),
        .learning_rate = rate_of_parameter(u->rates[one->group].learning_rate, one->parameter),
        .weight_decay = u->rates[one->group].weight_decay,
        .momentum = u->rates[one->group].momentum
    };
    for (int s = 0; s < one->state_count; s++)
        next.states[s] =
            masked_state(one, s, kept, cse_selected_or_zero(one, cse_moment_read(one, s)));
    optimizer->descriptor->update(&next);
    assign_weight(u, index, kept, cse_sparsity_apply(kept, next.next_parameter));
    for (int s = 0; s < one->state_count; s++)
        if (next.next_states[s] != NULL)
            cse_moment_assign(one, s, next.settings, u->finite,
                              masked_state(one, s, kept, next.next_states[s]));
}

/* Fetches what the update computes in any case. */
static void fetch_rates(const update *u)
{
    char name[128];
    for (int g = 0; g < u->optimizer->group_count; g++) {
        const cse_parameter_group *group = &u->optimizer->groups[g];
        snprintf(name, sizeof name, "lr/%s", group->name);
        if (group->rate != NULL)
            cse_step_fetch(u->step, name, u->rates[g].learning_rate);
        snprintf(name, sizeof name, "weight_decay/%s", group->name);
        if (group->weight_decay != NULL)
            cse_step_fetch(u->step, name, u->rates[g].weight_decay);
        snprintf(name, sizeof name, "momentum/%s", group->name);
        if (group->momentum != NULL)
            cse_step_fetch(u->step, name, u->rates[g].momentum);
    }
}

/* A second update would replace the first one, whose values it does not see as its gradients do. */
static bool may_update(const char *caller, const cse_optimizer *optimizer,
                       cse_tensor *const gradients[])
{
    char has[128], wants[128];
    for (int i = 0; i < optimizer->count; i++) {
        const cse_state *parameter = optimizer->optimized[i].parameter;
        const cse_tensor *gradient = gradients != NULL ? gradients[i] : NULL;
        if (parameter->updated) {
            cse_trace_fail(CSE_USAGE,
                           "%s: a step updates a state once, and this is the second update of "
                           "'%s': two optimizers of one step have different parameters",
                           caller, parameter->name);
            return false;
        }
        if (gradient == NULL || cse_trace_is_poison(gradient) ||
            (cse_shape_equal(gradient->shape, parameter->shape) && gradient->dtype == CSE_FLOAT32 &&
             !gradient->batch))
            continue;
        cse_trace_fail(
            CSE_SHAPE,
            "%s: gradient %d must be that of '%s', float32 %s and the same for all "
            "microbatches (cse_gradients), not %s %s",
            caller, i, parameter->name, cse_shape_text(parameter->shape, wants, sizeof wants),
            cse_dtype_name(gradient->dtype), cse_shape_text(gradient->shape, has, sizeof has));
        return false;
    }
    return true;
}

/* Updates the parameters that have a gradient, and moves the schedule on. */
static void trace_update(update *u, cse_tensor *const gradients[])
{
    const cse_optimizer *optimizer = u->optimizer;
    u->stochastic = u->step->network->weight_update == CSE_WEIGHT_BF16SR;
    u->clock = cse_sparsity_clock_read(optimizer, u->finite);
    trace_rates(u);
    for (int i = 0; i < optimizer->count; i++) {
        cse_state *parameter = optimizer->optimized[i].parameter;
        const char *name = cse_short_name(parameter->name);
        parameter->updated = true;
        if (gradients[i] == NULL)
            continue;
        cse_scope_enter(u->step, name);
        trace_parameter(u, i, gradients[i]);
        cse_scope_leave(u->step, name);
    }
    cse_average_count(optimizer, u->finite);
    cse_sparsity_clock_move(optimizer, &u->clock);
    if (optimizer->schedule != NULL) {
        cse_state *clock = optimizer->schedule->last_epoch;
        cse_assign_if(u->finite, clock, cse_add(cse_read(clock), cse_constant_int(1)));
    }
    if (u->step->network->fetches_metrics)
        fetch_rates(u);
    u->step->training = true;
}

/* ---- the calls ---- */

int cse_optimizer_group_count(const cse_optimizer *optimizer)
{
    return optimizer != NULL ? optimizer->group_count : 0;
}

static void set_value(const char *name, cse_optimizer *optimizer, int group, bool is_decay,
                      cse_tensor *value)
{
    const cse_network *network = cse_network_tracing_view(name);
    if (network == NULL || cse_trace_is_poison(value))
        return;
    if (optimizer == NULL || group < 0 || group >= optimizer->group_count)
        cse_trace_fail(CSE_USAGE, "%s: the optimizer has no group %d", name, group);
    else if (is_decay && !cse_setting_table_has(optimizer->descriptor->settings, "weight_decay"))
        cse_trace_fail(CSE_USAGE, "%s: the optimizer %s has no weight_decay", name,
                       optimizer->descriptor->name);
    else if (value->dtype != CSE_FLOAT32 || value->shape.rank != 0 || value->batch)
        cse_trace_fail(CSE_SHAPE, "%s: a %s is a float32 scalar that does not depend on the batch",
                       name, is_decay ? "weight decay" : "learning rate");
    else {
        cse_step *step = network->traced;
        cse_set_rate *set = cse_arena_alloc(step->graph->arena, sizeof *set);
        *set = (cse_set_rate){ step->set_rates, &optimizer->groups[group], is_decay, value };
        step->set_rates = set;
    }
}

void cse_optimizer_set_rate(cse_optimizer *optimizer, int group, cse_tensor *rate)
{
    set_value("cse_optimizer_set_rate", optimizer, group, false, rate);
}

void cse_optimizer_set_weight_decay(cse_optimizer *optimizer, int group, cse_tensor *weight_decay)
{
    set_value("cse_optimizer_set_weight_decay", optimizer, group, true, weight_decay);
}

static cse_step *begin_call(const char *caller, const cse_optimizer *optimizer)
{
    const cse_network *network = cse_network_tracing_view(caller);
    if (network == NULL)
        return NULL;
    if (optimizer != NULL)
        return network->traced;
    cse_trace_fail(CSE_USAGE, "%s: there is no optimizer", caller);
    return NULL;
}

void cse_optimizer_gradients(cse_optimizer *optimizer, cse_tensor *loss, cse_tensor *gradients[])
{
    const cse_step *step = begin_call("cse_optimizer_gradients", optimizer);
    if (step == NULL)
        return;
    cse_state **states =
        cse_arena_alloc(step->graph->arena, ((size_t)optimizer->count + 1) * sizeof *states);
    for (int i = 0; i < optimizer->count; i++)
        states[i] = optimizer->optimized[i].parameter;
    cse_gradients(loss, states, optimizer->count, gradients);
    cse_sparsity_mask_gradients(optimizer, gradients);
    for (int i = 0; i < optimizer->count; i++)
        if (gradients[i] != NULL)
            gradients[i] = cse_selected_or_zero(&optimizer->optimized[i], gradients[i]);
}

static void apply(const char *caller, cse_optimizer *optimizer, cse_tensor *const gradients[],
                  cse_tensor *finite)
{
    update u = { .step = begin_call(caller, optimizer), .optimizer = optimizer, .finite = finite };
    if (u.step == NULL || !may_update(caller, optimizer, gradients))
        return;
    for (int i = 0; i < optimizer->count; i++)
        if (gradients[i] != NULL && cse_trace_is_poison(gradients[i]))
            return;
    cse_scope_enter(u.step, "optimizer");
    trace_update(&u, gradients);
    cse_scope_leave(u.step, "optimizer");
}

void cse_optimizer_apply(cse_optimizer *optimizer, cse_tensor *const gradients[])
{
    apply("cse_optimizer_apply", optimizer, gradients, NULL);
}

void cse_grad_scaler_step(cse_grad_scaler *scaler, cse_optimizer *optimizer,
                          cse_tensor *const gradients[])
{
    const char *caller = "cse_grad_scaler_step";
    const cse_network *network = cse_network_tracing_view(caller);
    if (network == NULL)
        return;
    cse_grad_scaler *meant = cse_grad_scaler_meant(network, scaler);
    cse_network_warn_of_precision(network->traced->network, cse_grad_scaler_is_dynamic(meant));
    if (meant != NULL)
        gradients = cse_grad_scaler_clip(meant, optimizer, gradients);
    apply(caller, optimizer, gradients, meant != NULL ? cse_grad_scaler_finite(meant) : NULL);
}

static bool may_step(cse_tensor *loss, const cse_optimizer *optimizer, const cse_clip *clip)
{
    const char *name = "cse_optimizer_step";
    if (begin_call(name, optimizer) == NULL || !may_update(name, optimizer, NULL) ||
        !cse_clip_is_valid(name, clip) || !cse_loss_is_differentiable(name, loss))
        return false;
    if (!loss->batch)
        cse_trace_fail(CSE_SHAPE, "%s: the loss does not depend on the batch", name);
    return loss->batch;
}

/* Metrics beside the rates: of the first optimizer under their plain names. */
static void fetch_norm(cse_step *step, const cse_optimizer *optimizer, cse_tensor *norm)
{
    char name[64] = "grad_norm";
    int number = 0;
    while (step->network->optimizers[number] != optimizer)
        number++;
    if (number > 0)
        snprintf(name, sizeof name, "grad_norm/%d", number);
    cse_step_fetch(step, name, norm);
}

/* For what is traced after the optimizer step. */
static void keep_gradients(const update *u, cse_tensor *const *gradients)
{
    cse_step *step = u->step;
    cse_arena *arena = step->graph->arena;
    const size_t count = (size_t)u->optimizer->count;
    step->parameter_count = u->optimizer->count;
    step->parameters = cse_arena_alloc(arena, (count + 1) * sizeof *step->parameters);
    step->gradients = cse_arena_alloc(arena, (count + 1) * sizeof *step->gradients);
    for (size_t i = 0; i < count; i++) {
        step->parameters[i] = u->optimizer->optimized[i].parameter;
        step->gradients[i] = gradients[i];
    }
}

void cse_optimizer_step(cse_step *step, cse_tensor *loss, cse_optimizer *optimizer,
                        cse_grad_scaler *scaler, const cse_clip *clip)
{
    const cse_network *network = step->network;
    cse_clip limit = clip != NULL ? *clip : network->clip;
    update u = { .step = step, .optimizer = optimizer };
    scaler = cse_grad_scaler_meant(network, scaler);
    cse_network_warn_of_precision(step->network, cse_grad_scaler_is_dynamic(scaler));
    if (limit.max_norm == 0 && limit.max_value == 0)
        limit.max_norm = cse_grad_scaler_norm(scaler);
    if (!may_step(loss, optimizer, &limit))
        return;
    const int count = optimizer->count;
    cse_tensor **gradients =
        cse_arena_alloc(step->graph->arena, ((size_t)count + 1) * sizeof(cse_tensor *));
    cse_scope_enter(step, "optimizer");
    if (scaler != NULL)
        loss = cse_grad_scaler_scale(scaler, loss);
    for (int i = 0; i < count; i++)
        gradients[i] = cse_gradient_of(loss, optimizer->optimized[i].parameter);
    cse_sparsity_mask_gradients(optimizer, gradients);
    for (int i = 0; i < count; i++)
        gradients[i] = cse_selected_or_zero(&optimizer->optimized[i], gradients[i]);
    if (scaler != NULL)
        cse_grad_scaler_unscale(scaler, gradients, count);
    keep_gradients(&u, gradients);
    const bool measured = scaler != NULL || limit.max_norm > 0;
    cse_tensor *norm =
        measured || limit.max_value > 0 ? cse_clip_gradients(gradients, count, &limit) : NULL;
    if (scaler != NULL)
        u.finite = cse_grad_scaler_finite(scaler);
    trace_update(&u, gradients);
    if (network->fetches_metrics && measured)
        fetch_norm(step, optimizer, norm);
    if (scaler != NULL)
        cse_grad_scaler_update(scaler);
    else if (network->fetches_metrics && network->loss_scale_log == CSE_LOG_ALWAYS)
        cse_step_fetch(step, "loss_scale", cse_constant(1));
    cse_scope_leave(step, "optimizer");
}

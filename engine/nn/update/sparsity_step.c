/* The masks of a step that is traced.
 *
 * In a step that changes masks, let t be the number of updates so far, w the weights before the
 * update, m the mask, n the elements and k = round((1 - s(t)) n) how many are to be in use:
 *
 *   drop   of the elements in use those stay that have the largest |w|: k of them, and with SET and
 *          RigL not more than the part 1 - drop_fraction
 *   grow   of all others as many come into use as are missing from k: those with the largest
 *          |gradient| (RigL), with the highest random scores (SET), or the first ones (GMP)
 *
 * and the step's update goes on with the new mask: gradient, weights and the optimizer's states are
 * 0 outside of it, before and after. Both choices end in a rank, three numbers for a tensor
 * (engine/graph/ops/ranking.h), which WEIGHTS finds; UPDATE tells each element by them. In all
 * other steps the ranks are constants, found without a look at the tensors, so that masks cost
 * little. A step whose gradients are not finite changes nothing, the clock included. */
#include <math.h>

#include "csengine/generated/ops.h"
#include "engine/graph/ops/ranking.h"
#include "engine/graph/trace/trace.h"
#include "engine/nn/network.h"
#include "engine/nn/update/grad_scaler.h"
#include "engine/nn/update/sparsity.h"

/* ---- numbers ---- */

/* How often masks changed until t, the first masks included. */
static cse_tensor *changes_until(const cse_sparsity_group *group, cse_tensor *t)
{
    const cse_sparsity_update *update = &group->update;
    cse_tensor *count = cse_constant_int(0);
    if (update->step_count == 0)
        return cse_floor_divide(cse_sub(t, cse_constant_int((int32_t)update->start)),
                                cse_constant_int((int32_t)update->freq));
    for (int i = 0; i < update->step_count; i++) {
        cse_tensor *passed =
            cse_greater(t, cse_constant_int((int32_t)update->steps[i])); /* before this change */
        count = cse_add(count, cse_cast(passed, CSE_INT32));
    }
    return count;
}

static cse_tensor *cycle(const cse_sparsity_number *number, cse_tensor *changes)
{
    cse_tensor *at = cse_remainder(changes, cse_constant_int(number->value_count));
    cse_tensor *value = cse_constant(number->values[0]);
    for (int i = 1; i < number->value_count; i++)
        value =
            cse_where(cse_equal(at, cse_constant_int(i)), cse_constant(number->values[i]), value);
    return value;
}

/* The number at t, an int32 scalar, in [0, 1]. */
static cse_tensor *value_at(const cse_sparsity_number *number, const cse_sparsity_group *group,
                            cse_tensor *t)
{
    const double middle = (number->init + number->minimum) / 2, pi = 3.14159265358979323846;
    if (number->curve == CSE_SPARSITY_CONSTANT)
        return cse_constant(number->init);
    cse_tensor *time = cse_cast(t, CSE_FLOAT32), *value = NULL, *rest = NULL;
    switch (number->curve) {
    case CSE_SPARSITY_LINEAR:
        value = cse_shift(cse_scale(time, number->slope), number->init);
        break;
    case CSE_SPARSITY_EXP:
        rest = cse_scale(cse_exp(cse_scale(time, number->gamma)), number->init - number->final);
        value = cse_shift(rest, number->final);
        break;
    case CSE_SPARSITY_POWER:
        value = cse_scale(cse_pow(cse_constant(number->beta), time), number->init);
        break;
    case CSE_SPARSITY_COSINE:
        rest = cse_cos(cse_scale(time, pi / number->half_period));
        value = cse_shift(cse_scale(rest, number->init - middle), middle);
        break;
    case CSE_SPARSITY_CYCLING:
        value = cycle(number, changes_until(group, t));
        break;
    case CSE_SPARSITY_CUBIC:
        time = cse_cast(cse_sub(t, cse_constant_int((int32_t)number->start)), CSE_FLOAT32);
        rest = cse_clamp(cse_scale(time, 1.0 / (double)(number->stop - number->start)), 0, 1);
        rest = cse_sub(cse_constant(1), rest);
        rest = cse_mul(cse_mul(rest, rest), rest);
        value = cse_shift(cse_scale(rest, number->init - number->final), number->final);
        break;
    default:
        break;
    }
    return cse_clamp(value, 0, 1);
}

/* Whether masks change now: not at t = 0, for which there are the first masks. */
static cse_tensor *is_change(const cse_sparsity_group *group, const cse_sparsity_clock *clock)
{
    const cse_sparsity_update *update = &group->update;
    cse_tensor *t = clock->steps, *zero = cse_constant_int(0);
    cse_tensor *change = NULL;
    for (int i = 0; i < update->step_count; i++) {
        cse_tensor *now = cse_equal(t, cse_constant_int((int32_t)update->steps[i]));
        change = change == NULL ? now : cse_logical_or(change, now);
    }
    if (update->step_count == 0) {
        cse_tensor *past = cse_sub(t, cse_constant_int((int32_t)update->start));
        cse_tensor *turn =
            cse_equal(cse_remainder(past, cse_constant_int((int32_t)update->freq)), zero);
        change = cse_logical_and(turn, cse_less(t, cse_constant_int((int32_t)update->stop)));
        change = cse_logical_and(change, cse_greater(past, cse_constant_int(-1)));
    }
    change = cse_logical_and(change, cse_greater(t, zero));
    return clock->finite != NULL ? cse_logical_and(change, clock->finite) : change;
}

cse_sparsity_clock cse_sparsity_clock_read(const cse_optimizer *optimizer, cse_tensor *finite)
{
    cse_state *clock = optimizer->sparsity_clock;
    return (cse_sparsity_clock){ clock != NULL ? cse_read(clock) : NULL, finite };
}

void cse_sparsity_clock_move(const cse_optimizer *optimizer, const cse_sparsity_clock *clock)
{
    if (clock->steps != NULL)
        cse_assign_if(clock->finite, optimizer->sparsity_clock,
                      cse_add(clock->steps, cse_constant_int(1)));
}

/* ---- masks ---- */

/* Starts what is known of the parameter in the step that is traced. */
static void begin_trace(cse_sparse *sparse)
{
    const cse_network *network = cse_network_tracing_view("cse_configure_sparsity");
    if (network == NULL || sparse->trace == network->trace_count)
        return;
    sparse->trace = network->trace_count;
    sparse->dense = sparse->target = NULL;
}

static cse_tensor *in_use(cse_state *mask)
{
    return cse_not_equal(cse_read(mask), cse_constant(0));
}

cse_tensor *cse_sparsity_apply(cse_tensor *kept, cse_tensor *x)
{
    return kept != NULL ? cse_where(kept, x, cse_constant(0)) : x;
}

/* The sum over the batch that a mean was made of, whose magnitudes have the same order. */
static cse_tensor *sum_of_mean(cse_tensor *mean)
{
    for (int i = 0; i < mean->input_count; i++)
        if (mean->inputs[i]->op == &cse_op_batch_sum)
            return mean->inputs[i];
    return mean;
}

/* Gradients of several losses are added up by whoever takes them. */
static cse_tensor *mask_gradient(cse_sparse *sparse, cse_tensor *gradient)
{
    cse_tensor *dense = sum_of_mean(gradient);
    begin_trace(sparse);
    sparse->dense = sparse->dense != NULL ? cse_add(sparse->dense, dense) : dense;
    return cse_sparsity_apply(in_use(sparse->mask), gradient);
}

void cse_sparsity_mask_gradients(const cse_optimizer *optimizer, cse_tensor *gradients[])
{
    for (int i = 0; i < optimizer->count; i++) {
        cse_sparse *sparse = optimizer->optimized[i].parameter->sparse;
        if (sparse == NULL || gradients[i] == NULL || cse_trace_is_poison(gradients[i]))
            continue;
        gradients[i] = mask_gradient(sparse, gradients[i]);
    }
}

/* round((1 - sparsity) n), int32. */
static cse_tensor *count_in_use(const cse_sparse *sparse)
{
    const double elements = (double)cse_shape_elements(sparse->parameter->shape);
    cse_tensor *density = cse_sub(cse_constant(1), sparse->target);
    return cse_cast(cse_round(cse_scale(density, elements)), CSE_INT32);
}

/* What the ops that draw random scores know them by. */
static const char *stream_of(const cse_sparse *sparse)
{
    return cse_arena_printf(cse_trace_graph()->arena, "%s.growth", sparse->mask->name);
}

static cse_tensor *trace_change(const cse_sparsity_clock *clock, cse_sparse *sparse)
{
    const cse_sparsity_group *group = sparse->group;
    const bool drops = group->algorithm != CSE_SPARSITY_GMP;
    cse_tensor *change = is_change(group, clock), *never = cse_constant_int(-1);
    cse_tensor *weights = cse_read(sparse->parameter), *mask = cse_read(sparse->mask);
    cse_tensor *count = count_in_use(sparse), *fraction = cse_constant(1), *within;
    if (drops)
        fraction = cse_sub(fraction, value_at(&group->drop_fraction, group, clock->steps));
    cse_tensor *kept_rank =
        cse_rank_inside(weights, mask, fraction, cse_where(change, count, never));
    cse_tensor *missing = cse_sub(count, cse_rank_part(kept_rank, 2, count));
    const cse_outside outside = { mask, weights, kept_rank };
    cse_tensor *limit = cse_where(change, missing, never);
    if (group->algorithm == CSE_SPARSITY_SET) {
        cse_tensor *rank = cse_rank_outside(cse_draw_key(stream_of(sparse)), &outside, limit);
        within = cse_draw_within_rank(stream_of(sparse), mask, rank);
    } else {
        cse_tensor *scores = group->algorithm == CSE_SPARSITY_RIGL ? sparse->dense : weights;
        within = cse_within_rank(scores, cse_rank_outside(scores, &outside, limit));
    }
    cse_tensor *kept = cse_logical_and(in_use(sparse->mask), cse_within_rank(weights, kept_rank));
    return cse_logical_or(kept, within);
}

cse_tensor *cse_sparsity_next_mask(const cse_sparsity_clock *clock, const cse_optimizer *optimizer,
                                   cse_state *parameter, cse_tensor **gradient)
{
    cse_sparse *sparse = parameter->sparse;
    if (sparse == NULL)
        return NULL;
    begin_trace(sparse);
    if (sparse->dense == NULL) /* it is of the caller's own making */
        *gradient = mask_gradient(sparse, *gradient);
    if (sparse->optimizer != optimizer)
        return in_use(sparse->mask);
    sparse->target = value_at(&sparse->group->sparsity, sparse->group, clock->steps);
    if (sparse->group->algorithm == CSE_SPARSITY_STATIC)
        return in_use(sparse->mask);
    cse_tensor *next = trace_change(clock, sparse);
    cse_assign(sparse->mask, cse_cast(next, CSE_FLOAT32));
    return next;
}

cse_tensor *cse_sparsity_target(const cse_state *parameter)
{
    const cse_network *network = cse_network_tracing_view("cse_sparsity_target");
    const cse_sparse *sparse = parameter != NULL ? parameter->sparse : NULL;
    return network != NULL && sparse != NULL && sparse->trace == network->trace_count
               ? sparse->target
               : NULL;
}

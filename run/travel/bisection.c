/* Both runs go on, each with its own configuration, from its newest checkpoint before the step. */
#include "run/travel/bisection.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/types/shape.h"
#include "engine/formats/checkpoint/checkpoint.h"
#include "run/travel/tensor_facts.h"

enum { RUNS = CSE_BISECTED_RUNS };

/* ---- states ---- */

static void compare_values(const cse_checkpoint_tensor *const tensors[RUNS],
                           cse_state_difference *d)
{
    const unsigned char *a = tensors[0]->data, *b = tensors[1]->data;
    const size_t size = cse_dtype_size(tensors[0]->dtype);
    const int64_t count = cse_shape_elements(tensors[0]->shape);
    for (int64_t i = 0; i < count; i++) {
        if (memcmp(a + (size_t)i * size, b + (size_t)i * size, size) == 0)
            continue;
        const double x = cse_tensor_value(tensors[0]->dtype, a, i);
        const double y = cse_tensor_value(tensors[1]->dtype, b, i);
        if (d->elements++ == 0) {
            d->first = i;
            d->values[0] = x;
            d->values[1] = y;
        }
        if (!(fabs(x - y) <= d->largest)) /* a NaN is larger than anything */
            d->largest = fabs(x - y);
    }
}

static void add(cse_state_differences *all, const cse_state_difference *d)
{
    CSE_GROW(all->list, all->count, all->capacity);
    all->list[all->count++] = *d;
}

static bool same_kind(const cse_checkpoint_tensor *a, const cse_checkpoint_tensor *b)
{
    return b != NULL && a->dtype == b->dtype && cse_shape_equal(a->shape, b->shape);
}

static void compare_states(cse_arena *arena, const cse_checkpoint *const checkpoints[RUNS],
                           cse_state_differences *all)
{
    for (int r = 0; r < RUNS; r++)
        for (int i = 0; i < checkpoints[r]->tensor_count; i++) {
            const cse_checkpoint_tensor *own = &checkpoints[r]->tensors[i];
            const cse_checkpoint_tensor *other = cse_checkpoint_find(checkpoints[1 - r], own->name);
            cse_state_difference d = { .name = cse_arena_string(arena, own->name),
                                       .dtype = own->dtype,
                                       .shape = own->shape };
            if (same_kind(own, other) && r == 0)
                compare_values((const cse_checkpoint_tensor *const[RUNS]){ own, other }, &d);
            d.only_in[r] = !same_kind(own, other);
            if (d.only_in[r] || d.elements > 0)
                add(all, &d);
        }
}

static cse_status compare_step(cse_bisection *b, const cse_replay replays[RUNS], int64_t step,
                               cse_state_differences *all)
{
    cse_checkpoint *checkpoints[RUNS] = { NULL, NULL };
    char path[PATH_MAX];
    cse_status status = CSE_OK;
    for (int r = 0; r < RUNS && status == CSE_OK; r++) {
        cse_checkpoint_path(replays[r].folder, step, path, sizeof path);
        status = cse_checkpoint_load(path, &checkpoints[r]);
    }
    if (status == CSE_OK)
        compare_states(b->arena,
                       (const cse_checkpoint *const[RUNS]){ checkpoints[0], checkpoints[1] }, all);
    for (int r = 0; r < RUNS; r++)
        cse_checkpoint_destroy(&checkpoints[r]);
    return status;
}

static cse_status replay_both(const char *const model_dirs[RUNS], const cse_bisection_options *o,
                              cse_bisection *b)
{
    /* The states before the step as well: of the checkpoint that a replay begins with, or of the
     * step before. */
    const char *const *settings = cse_first_value_settings(b->arena, b->step);
    cse_replay replays[RUNS];
    cse_status status = CSE_OK;
    int count = 0;
    for (; count < RUNS && status == CSE_OK; count++) {
        status = cse_replay_run(&(cse_replay_options){ .model_dir = model_dirs[count],
                                                       .step = b->step,
                                                       .num_csx = o->num_csx,
                                                       .kept = o->kept[count],
                                                       .every = b->step > 1 ? b->step - 1 : 0,
                                                       .latest = b->step - 1,
                                                       .settings = settings },
                                &replays[count]);
        b->verdicts[count] = replays[count].verdict;
    }
    if (status == CSE_OK)
        status = compare_step(b, replays, b->step - 1, &b->before);
    if (status == CSE_OK)
        status = compare_step(b, replays, b->step, &b->after);
    if (status == CSE_OK)
        status = cse_first_value_find(model_dirs, replays, o->num_csx, b->arena, &b->first_value);
    b->replayed = status == CSE_OK;
    for (int r = 0; r < count; r++)
        cse_replay_clear(&replays[r]);
    return status;
}

/* ---- steps ---- */

static cse_status find_step(const char *const model_dirs[RUNS], cse_run_chain chains[RUNS],
                            cse_bisection *b)
{
    for (int r = 0; r < RUNS; r++) {
        CSE_TRY(cse_run_chain_read(model_dirs[r], 0, 0, &chains[r]));
        (void)cse_run_chain_holds(&chains[r], &b->broken[r]);
    }
    b->step = cse_run_chain_differs(&chains[0], &chains[1], &b->common);
    if (b->common == 0)
        return cse_fail(CSE_NO_INPUT,
                        "%s and %s have no step with digests in common (step_digests)",
                        model_dirs[0], model_dirs[1]);
    if (b->step == 0)
        return CSE_OK;
    const cse_chain_step *a = cse_run_chain_at(&chains[0], b->step);
    const cse_chain_step *other = cse_run_chain_at(&chains[1], b->step);
    b->parting = memcmp(a->samples, other->samples, sizeof a->samples) != 0 ? CSE_PARTING_SAMPLES
                                                                            : CSE_PARTING_STATES;
    return CSE_OK;
}

cse_status cse_bisect(const char *const model_dirs[RUNS], const cse_bisection_options *options,
                      cse_bisection *b)
{
    cse_run_chain chains[RUNS] = { { .count = 0 }, { .count = 0 } };
    *b = (cse_bisection){ .arena = cse_arena_new() };
    cse_status status = find_step(model_dirs, chains, b);
    if (status == CSE_OK && b->step > 0)
        status = cse_settings_differences(b->arena, model_dirs, &b->settings, &b->setting_count);
    if (status == CSE_OK && b->step > 0 && !options->no_replay)
        status = replay_both(model_dirs, options, b);
    for (int r = 0; r < RUNS; r++)
        cse_run_chain_clear(&chains[r]);
    return status;
}

void cse_bisection_clear(cse_bisection *b)
{
    free(b->before.list);
    free(b->after.list);
    if (b->arena != NULL)
        cse_arena_destroy(&b->arena);
    *b = (cse_bisection){ .arena = NULL };
}

/* All dead units are judged at each step that is looked at, so that those which died together are
 * found together. */
#include "run/travel/dead_units.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"
#include "engine/base/types/shape.h"
#include "run/travel/computed_values.h"
#include "run/travel/replay.h"
#include "store/reader.h"

#define VALUES ".*relu.*"

/* ---- one layer at one step ---- */

static int unit_axis(const cse_shape *shape)
{
    return shape->rank == 4 ? 1 : shape->rank - 1;
}

static bool is_relu(const cse_computed_values *values, const cse_checkpoint_tensor *tensor)
{
    cse_computed_facts facts;
    return tensor->shape.rank >= 2 && cse_computed_values_facts(values, tensor, &facts) &&
           !facts.backward && strcmp(facts.role, "value") == 0 && strcmp(facts.op, "relu") == 0;
}

/* Whether every value of the unit is zero; what is no number is not. */
static bool is_dead(const cse_checkpoint_tensor *tensor, int64_t unit)
{
    const float *values = tensor->data;
    const int axis = unit_axis(&tensor->shape);
    const int64_t units = tensor->shape.dims[axis];
    int64_t inner = 1;
    for (int i = axis + 1; i < tensor->shape.rank; i++)
        inner *= tensor->shape.dims[i];
    const int64_t outer = cse_shape_elements(tensor->shape) / (units * inner);
    for (int64_t o = 0; o < outer; o++)
        for (int64_t i = 0; i < inner; i++)
            if (values[(o * units + unit) * inner + i] != 0)
                return false;
    return true;
}

/* ---- steps ---- */

static void begin_with(cse_dead_units *found, const cse_checkpoint_tensor *tensor)
{
    const int64_t units = tensor->shape.dims[unit_axis(&tensor->shape)];
    found->units += units;
    for (int64_t unit = 0; unit < units; unit++) {
        if (!is_dead(tensor, unit))
            continue;
        CSE_GROW(found->items, found->count, found->capacity);
        found->items[found->count++] = (cse_dead_unit){ .layer = cse_strdup(tensor->name),
                                                        .unit = unit,
                                                        .first = found->step };
    }
}

static void go_on_with(cse_dead_units *found, const cse_checkpoint_tensor *tensor, int64_t step)
{
    for (int i = 0; i < found->count; i++) {
        cse_dead_unit *item = &found->items[i];
        if (strcmp(item->layer, tensor->name) != 0 || step <= item->alive || step >= item->first)
            continue;
        if (is_dead(tensor, item->unit))
            item->first = step;
        else
            item->alive = step;
    }
}

static cse_status judge(cse_dead_units *found, const char *folder, int64_t step)
{
    cse_computed_values *values = NULL;
    cse_tensor_view view;
    cse_tensor_view_begin(&view);
    cse_status status = cse_computed_values_open(folder, step, &values);
    if (status == CSE_OK)
        status = cse_computed_values_add(
            values, (cse_computed_part){ .microbatch = -1, .sample = -1 }, &view);
    for (int i = 0; status == CSE_OK && i < view.count; i++) {
        if (!is_relu(values, &view.tensors[i]))
            continue;
        if (step == found->step)
            begin_with(found, &view.tensors[i]);
        else
            go_on_with(found, &view.tensors[i], step);
    }
    cse_computed_values_close(&values);
    cse_tensor_view_clear(&view);
    return status;
}

static cse_status look(const cse_dead_question *q, cse_dead_units *found, int64_t step)
{
    cse_replay replay = { .folder = "" };
    const cse_replay_options options = { .model_dir = q->model_dir,
                                         .step = step,
                                         .num_csx = q->num_csx,
                                         .latest = INT64_MAX,
                                         .kept = q->kept,
                                         .values = VALUES };
    found->looks++;
    cse_status status = cse_replay_run(&options, &replay);
    if (status == CSE_OK && replay.verdict == CSE_REPLAY_OTHER)
        status = cse_fail(CSE_DATA, "%s", replay.words.data);
    if (status == CSE_OK)
        status = judge(found, replay.folder, step);
    found->proved = found->proved && replay.verdict == CSE_REPLAY_SAME;
    cse_replay_clear(&replay);
    return status;
}

static cse_status find_last_step(const char *model_dir, int64_t *step)
{
    CSE_TRY(cse_store_last_step(model_dir, step));
    return *step > 0 ? CSE_OK
                     : cse_fail(CSE_NO_INPUT, "%s: no step of a training was committed", model_dir);
}

/* One whose end is not found yet; NULL: none. */
static const cse_dead_unit *unfinished(const cse_dead_units *found)
{
    for (int i = 0; i < found->count; i++)
        if (found->items[i].first - found->items[i].alive > 1)
            return &found->items[i];
    return NULL;
}

cse_status cse_dead_units_find(const cse_dead_question *q, cse_dead_units *found)
{
    const cse_dead_unit *next;
    *found = (cse_dead_units){ .step = q->step, .proved = true };
    if (q->step == 0)
        CSE_TRY(find_last_step(q->model_dir, &found->step));
    CSE_TRY(look(q, found, found->step));
    if (found->units == 0)
        return cse_fail(CSE_NO_INPUT,
                        "%s: no layer has ReLU, of whose units alone it is told whether they are "
                        "dead: other activations are hardly ever exactly zero",
                        q->model_dir);
    while ((next = unfinished(found)) != NULL && found->looks < CSE_MOST_DEAD_LOOKS)
        CSE_TRY(look(q, found, next->alive + (next->first - next->alive) / 2));
    return CSE_OK;
}

void cse_dead_units_clear(cse_dead_units *found)
{
    for (int i = 0; i < found->count; i++)
        free(found->items[i].layer);
    free(found->items);
    *found = (cse_dead_units){ .count = 0 };
}

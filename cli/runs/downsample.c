/* Each time there are too many records, the stride doubles and every second kept step is dropped.
 */
#include "cli/runs/downsample.h"

#include <stdlib.h>

#include "cli/terminal/json_values.h"
#include "engine/base/arena.h"

static void drop_every_second(cse_downsampler *t)
{
    int kept = 0;
    t->stride *= 2;
    for (int i = 0; i < t->count; i++) {
        if (t->ordinals[i] % t->stride != 0) {
            json_decref(t->records[i]);
            continue;
        }
        t->records[kept] = t->records[i];
        t->ordinals[kept++] = t->ordinals[i];
    }
    t->count = kept;
}

/* True when the record begins a new step. */
static bool begins_step(cse_downsampler *t, const json_t *record)
{
    int64_t attempt = cse_json_whole(record, "attempt", 0);
    int64_t step = cse_json_whole(record, "step", 0);
    bool begins = t->stride == 0 || attempt != t->attempt || step != t->step;
    t->attempt = attempt;
    t->step = step;
    return begins;
}

void cse_downsampler_add(cse_downsampler *t, const json_t *records)
{
    size_t i;
    json_t *record;
    json_array_foreach(records, i, record)
    {
        bool first = t->stride == 0;
        if (begins_step(t, record)) {
            t->ordinal = first ? 0 : t->ordinal + 1;
            t->stride = first ? 1 : t->stride;
            json_decref(t->last);
            t->last = json_array();
        }
        json_array_append(t->last, record);
        if (t->ordinal % t->stride != 0)
            continue;
        CSE_GROW(t->records, t->count, t->capacity);
        CSE_GROW(t->ordinals, t->count, t->ordinals_capacity);
        t->ordinals[t->count] = t->ordinal;
        t->records[t->count++] = json_incref(record);
        /* The records of one step are never separated, even when they exceed the limit. */
        while (t->count > t->most && t->ordinals[t->count - 1] > t->ordinals[0])
            drop_every_second(t);
    }
}

json_t *cse_downsampler_end(cse_downsampler *t)
{
    json_t *kept = json_array();
    for (int i = 0; i < t->count; i++)
        json_array_append_new(kept, t->records[i]);
    if (t->stride > 0 && t->ordinal % t->stride != 0)
        json_array_extend(kept, t->last);
    json_decref(t->last);
    free(t->records);
    free(t->ordinals);
    *t = (cse_downsampler){ 0 };
    return kept;
}

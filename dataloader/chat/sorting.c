/* A merge sort of places; see sorting.h. */
#include "dataloader/chat/sorting.h"

#include <string.h>

typedef struct sorting {
    cse_jinja_run *run;
    const cse_jinja_value *values;
    bool reverse;
    size_t *order, *spare;
} sorting;

static cse_status merge(sorting *self, size_t begin, size_t middle, size_t end)
{
    size_t left = begin, right = middle, at = begin;
    while (left < middle && right < end) {
        int order;
        const cse_jinja_value *a = &self->values[self->order[left]];
        const cse_jinja_value *b = &self->values[self->order[right]];
        CSE_TRY(cse_jinja_step(self->run, 1));
        CSE_TRY(cse_jinja_order_of(self->run, a, b, &order));
        const bool keeps = self->reverse ? order >= 0 : order <= 0;
        self->spare[at++] = self->order[keeps ? left++ : right++];
    }
    while (left < middle)
        self->spare[at++] = self->order[left++];
    while (right < end)
        self->spare[at++] = self->order[right++];
    memcpy(self->order + begin, self->spare + begin, (end - begin) * sizeof *self->order);
    return CSE_OK;
}

cse_status cse_jinja_sort_order(cse_jinja_run *run, const cse_jinja_value *values, size_t count,
                                bool reverse, size_t *order)
{
    sorting self = { run, values, reverse, order, NULL };
    self.spare = cse_arena_alloc(run->arena, (count + 1) * sizeof *order);
    for (size_t i = 0; i < count; i++)
        order[i] = i;
    for (size_t width = 1; width < count; width *= 2)
        for (size_t begin = 0; begin + width < count; begin += 2 * width) {
            const size_t end = begin + 2 * width < count ? begin + 2 * width : count;
            CSE_TRY(merge(&self, begin, begin + width, end));
        }
    return CSE_OK;
}

/* What is poisoned after each group is found when the step is opened: the bytes of the values that
 * end with it, without those that a result of the group has taken over. Another value that lives on
 * there, or a sum that is already written, is so destroyed: the plan is wrong. */
#include "engine/code/execute/poison.h"

#include <stdlib.h>
#include <string.h>

#include "engine/graph/passes/lifetimes.h"

typedef struct piece {
    int group;
    cse_space space;
    int64_t first, end;
} piece;

struct cse_poison {
    piece *pieces; /* by group */
    int count, capacity;
};

/* The first of the values that the piece's group has made in bytes of the piece; NULL: none. */
static const cse_lifetime *find_heir(const cse_lifetime *values, int count, const piece *p)
{
    const cse_lifetime *found = NULL;
    for (int v = 0; v < count; v++) {
        const cse_lifetime *value = &values[v];
        if (value->first == p->group && value->last > p->group && value->space == p->space &&
            value->offset < p->end && value->offset + value->bytes > p->first &&
            (found == NULL || value->offset < found->offset))
            found = value;
    }
    return found;
}

static void add_pieces(cse_poison *poison, const cse_lifetime *values, int count, int at)
{
    const cse_lifetime *value = &values[at];
    piece rest = { value->last, value->space, value->offset, value->offset + value->bytes };
    while (rest.first < rest.end) {
        const cse_lifetime *heir = find_heir(values, count, &rest);
        const int64_t end = heir != NULL ? heir->offset : rest.end;
        if (rest.first < end) {
            CSE_GROW(poison->pieces, poison->count, poison->capacity);
            poison->pieces[poison->count++] = (piece){ rest.group, rest.space, rest.first, end };
        }
        rest.first = heir != NULL ? heir->offset + heir->bytes : rest.end;
    }
}

static int compare_groups(const void *a, const void *b)
{
    const piece *x = a, *y = b;
    return (x->group > y->group) - (x->group < y->group);
}

cse_poison *cse_poison_new(const cse_graph *graph)
{
    if (getenv("CSE_POISON") == NULL)
        return NULL;
    cse_poison *poison = cse_calloc(1, sizeof *poison);
    int count;
    cse_lifetime *values = cse_lifetimes_find(graph, &count);
    for (int v = 0; v < count; v++)
        if (values[v].last < graph->group_count)
            add_pieces(poison, values, count, v);
    free(values);
    if (poison->count > 0)
        qsort(poison->pieces, (size_t)poison->count, sizeof *poison->pieces, compare_groups);
    return poison;
}

void cse_poison_destroy(cse_poison **poison)
{
    if (*poison != NULL)
        free((*poison)->pieces);
    free(*poison);
    *poison = NULL;
}

void cse_poison_after(const cse_poison *poison, const cse_frame *frame, int group)
{
    int low = 0, high = poison != NULL ? poison->count : 0;
    while (low < high) {
        const int middle = low + (high - low) / 2;
        if (poison->pieces[middle].group < group)
            low = middle + 1;
        else
            high = middle;
    }
    for (; poison != NULL && low < poison->count && poison->pieces[low].group == group; low++) {
        const piece *p = &poison->pieces[low];
        memset(frame->base[p->space] + p->first, 0xff, (size_t)(p->end - p->first));
    }
}

/* Best fit; see packing.h. Rows with the same room form a list by that room, from which the one
 * that was begun first is taken. */
#include "dataloader/conversations/packing.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"

void cse_packing_clear(cse_packing *packing)
{
    free(packing->first);
    free(packing->items);
    *packing = (cse_packing){ 0 };
}

void cse_packing_make_single(cse_packing *packing, int64_t count)
{
    packing->rows = count;
    packing->first = cse_malloc(((size_t)count + 1) * sizeof *packing->first);
    packing->items = cse_malloc(((size_t)count + 1) * sizeof *packing->items);
    for (int64_t i = 0; i <= count; i++)
        packing->first[i] = packing->items[i] = i;
}

/* Items by length, the longest first, equal ones in their order: a counting sort. */
static int64_t *by_length(const int32_t *lengths, int64_t count, int64_t most)
{
    int64_t *begin = cse_calloc((size_t)most + 2, sizeof *begin);
    int64_t *order = cse_malloc(((size_t)count + 1) * sizeof *order);
    for (int64_t i = 0; i < count; i++)
        begin[most - lengths[i] + 1]++;
    for (int64_t k = 1; k <= most; k++)
        begin[k] += begin[k - 1];
    for (int64_t i = 0; i < count; i++)
        order[begin[most - lengths[i]]++] = i;
    free(begin);
    return order;
}

typedef struct rooms {
    int64_t *head, *tail; /* [most + 1]: rows with this room, a list by `next`; -1: none */
    int64_t *next;        /* [rows] */
    int64_t most;
} rooms;

static void add_row(rooms *r, int64_t room, int64_t row)
{
    r->next[row] = -1;
    if (r->head[room] < 0)
        r->head[room] = row;
    else
        r->next[r->tail[room]] = row;
    r->tail[room] = row;
}

/* A row with the least room that is enough; -1: there is none. */
static int64_t take_row(rooms *r, int64_t length, int64_t *room)
{
    for (*room = length; *room <= r->most; ++*room)
        if (r->head[*room] >= 0) {
            const int64_t row = r->head[*room];
            r->head[*room] = r->next[row];
            return row;
        }
    return -1;
}

/* row_of[item]; returns the number of rows. */
static int64_t fit(const int32_t *lengths, int64_t count, int64_t most, int64_t *row_of)
{
    int64_t rows = 0, *order = by_length(lengths, count, most);
    rooms r = { .most = most };
    r.head = cse_malloc(((size_t)most + 1) * sizeof *r.head);
    r.tail = cse_malloc(((size_t)most + 1) * sizeof *r.tail);
    r.next = cse_malloc(((size_t)count + 1) * sizeof *r.next);
    for (int64_t k = 0; k <= most; k++)
        r.head[k] = -1;
    for (int64_t i = 0; i < count; i++) {
        int64_t room;
        const int64_t length = lengths[order[i]];
        int64_t row = take_row(&r, length, &room);
        if (row < 0) {
            row = rows++;
            room = most;
        }
        row_of[order[i]] = row;
        add_row(&r, room - length, row);
    }
    free(order);
    free(r.head);
    free(r.tail);
    free(r.next);
    return rows;
}

void cse_packing_make(cse_packing *packing, const int32_t *lengths, int64_t count, int64_t most)
{
    int64_t *row_of = cse_malloc(((size_t)count + 1) * sizeof *row_of), named = 0;
    const int64_t rows = packing->rows = fit(lengths, count, most, row_of);
    int64_t *number = cse_malloc(((size_t)rows + 1) * sizeof *number);
    packing->first = cse_calloc((size_t)rows + 2, sizeof *packing->first);
    packing->items = cse_malloc(((size_t)count + 1) * sizeof *packing->items);
    for (int64_t row = 0; row < rows; row++)
        number[row] = -1;
    for (int64_t i = 0; i < count; i++) {
        if (number[row_of[i]] < 0)
            number[row_of[i]] = named++;
        row_of[i] = number[row_of[i]];
        packing->first[row_of[i] + 2]++;
    }
    for (int64_t row = 0; row < rows; row++)
        packing->first[row + 2] += packing->first[row + 1];
    for (int64_t i = 0; i < count; i++)
        packing->items[packing->first[row_of[i] + 1]++] = i;
    free(number);
    free(row_of);
}

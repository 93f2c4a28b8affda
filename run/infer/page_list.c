/* The pages that were given back last are taken first: they are in the caches. */
#include "run/infer/page_list.h"

#include <stdlib.h>

#include "engine/base/arena.h"

void cse_page_list_open(cse_page_list *list, int64_t sequences, int64_t most, int64_t total)
{
    *list = (cse_page_list){ .sequences = sequences,
                             .most = most,
                             .total = total,
                             .pages = cse_calloc((size_t)(sequences * most), sizeof(int32_t)),
                             .counts = cse_calloc((size_t)sequences, sizeof(int64_t)),
                             .free = cse_calloc((size_t)total, sizeof(int32_t)),
                             .free_count = total };
    for (int64_t i = 0; i < total; i++)
        list->free[i] = (int32_t)(total - 1 - i);
}

void cse_page_list_close(cse_page_list *list)
{
    free(list->pages);
    free(list->counts);
    free(list->free);
    *list = (cse_page_list){ .pages = NULL };
}

void cse_page_list_leave(cse_page_list *list, int64_t sequence)
{
    while (list->counts[sequence] > 0)
        list->free[list->free_count++] = cse_page_at(list, sequence, --list->counts[sequence]);
}

bool cse_page_list_take(cse_page_list *list, int64_t sequence, int64_t count)
{
    if (count > list->most || count > list->free_count + list->counts[sequence])
        return false;
    cse_page_list_leave(list, sequence);
    while (list->counts[sequence] < count)
        list->pages[sequence * list->most + list->counts[sequence]++] =
            list->free[--list->free_count];
    return true;
}

/* Which pages of a pool (engine/graph/trace/attention_pages.h) each sequence has: as many as it
 * said that it will need, so that none waits for another in its middle. */
#ifndef CSE_RUN_INFER_PAGE_LIST_H
#define CSE_RUN_INFER_PAGE_LIST_H

#include <stdbool.h>
#include <stdint.h>

typedef struct cse_page_list {
    int64_t sequences, most, total; /* pages: of a sequence at most, and of all */
    int32_t *pages;                 /* [sequences][most] */
    int64_t *counts;                /* of each sequence */
    int32_t *free;                  /* [total], of which free_count count */
    int64_t free_count;
} cse_page_list;

/* All pages are free. */
void cse_page_list_open(cse_page_list *list, int64_t sequences, int64_t most, int64_t total);
void cse_page_list_close(cse_page_list *list);

/* Pages of which nothing is needed any more are free. */
void cse_page_list_leave(cse_page_list *list, int64_t sequence);
/* `count` pages in place of those that the sequence had; false: there are not so many, and it keeps
 * its own. */
bool cse_page_list_take(cse_page_list *list, int64_t sequence, int64_t count);

/* Of page `index` of the sequence. */
static inline int32_t cse_page_at(const cse_page_list *list, int64_t sequence, int64_t index)
{
    return list->pages[sequence * list->most + index];
}

#endif

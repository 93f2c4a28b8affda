/* The order of values, for sort, dictsort and the keys of JSON. */
#ifndef CSE_DATALOADER_CHAT_SORTING_H
#define CSE_DATALOADER_CHAT_SORTING_H

#include "dataloader/chat/run.h"

/* order[i]: which of the `count` values stands at place i. Equal ones keep their order, also where
 * it is the reverse one. CSE_DATA: values of these kinds have no order. */
cse_status cse_jinja_sort_order(cse_jinja_run *run, const cse_jinja_value *values, size_t count,
                                bool reverse, size_t *order);

#endif

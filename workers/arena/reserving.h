/* Memory for states and partial sums that a thread reserves, while its coordinator writes the
 * states' first values: of a large model it is half of what that costs.
 *
 * What is written before the thread was there is made by the writer (cse_pages_make), who learns if
 * memory is short. */
#ifndef CSE_WORKERS_ARENA_RESERVING_H
#define CSE_WORKERS_ARENA_RESERVING_H

#include "workers/arena/layout.h"

/* Has a thread call `reserve`; where there is none, or the kernel makes no pages in advance, it is
 * called now. CSE_TEMPORARY. */
cse_status cse_arena_begin_reserving(cse_cluster *cluster,
                                     cse_status (*reserve)(cse_cluster *cluster));
/* Waits until all of it is reserved; nothing to do where none is being reserved. CSE_TEMPORARY. */
cse_status cse_arena_end_reserving(cse_cluster *cluster);

#endif

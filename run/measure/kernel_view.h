/* One kernel of a run's step: its generated C, what it has to do by its plan, and the least time
 * that this machine needs for that. */
#ifndef CSE_RUN_MEASURE_KERNEL_VIEW_H
#define CSE_RUN_MEASURE_KERNEL_VIEW_H

#include "engine/base/text.h"
#include "run/measure/group_work.h"
#include "store/reader.h"

/* Of one core alone. */
typedef struct cse_kernel_limit {
    double ns;
    bool by_operations; /* by the peak of the registers, else by the bytes of the level */
    const char *peak, *level;
    double gflop_per_second, gb_per_second;
} cse_kernel_limit;

typedef struct cse_kernel_view {
    const char *part; /* "replica" */
    cse_group_work work;
    cse_text source; /* its function; size 0: not there */
    int function;    /* its number in the C */
    char source_missing[512];
    bool limited;
    cse_kernel_limit limit;
    const char *limit_missing; /* why there is none, and how to get it; NULL */
} cse_kernel_view;

/* Of the kernel with this index in the graph of the training step. `measure`: the rates of this
 * machine are measured first, at most once a minute, which takes about a second of one core; they
 * are kept while the process lives. CSE_USAGE: there is no such kernel; CSE_NO_INPUT: the run has
 * no graph. Clear the view also after a failure. */
cse_status cse_kernel_view_read(cse_store_reader *reader, int64_t kernel, bool measure,
                                cse_kernel_view *view);
void cse_kernel_view_clear(cse_kernel_view *view);

#endif

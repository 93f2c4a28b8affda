/* A source of microbatches for a worker, and its implementation by a data loader. */
#ifndef CSE_WORKERS_WORKER_LOADER_SOURCE_H
#define CSE_WORKERS_WORKER_LOADER_SOURCE_H

#include "dataloader/input.h"
#include "engine/graph/graph.h"

/* Fills `bytes` (CSE_SPACE_INPUT of the graph) with microbatch m of step `step`, a pure function of
 * (step, m). */
typedef struct cse_microbatch_source {
    void *self;
    cse_status (*read)(void *self, int64_t step, int64_t m, void *bytes);
} cse_microbatch_source;

/* A source that reads `loader` (borrowed) and arranges its streams in the order of the inputs of
 * `graph` (borrowed) and checks those that hold indices: a wrong one is CSE_DATA with its place.
 * CSE_CONFIG when a stream is missing or has another shape or type. */
cse_status cse_loader_source_new(cse_dataloader *loader, const cse_graph *graph,
                                 cse_microbatch_source **source);
void cse_loader_source_destroy(cse_microbatch_source **source);

#endif

/* Where a worker gets microbatches from, and a data loader as such a source. */
#ifndef CSE_WORKERS_WORKER_LOADER_SOURCE_H
#define CSE_WORKERS_WORKER_LOADER_SOURCE_H

#include "dataloader/input.h"
#include "engine/graph/graph.h"

/* Fills `bytes` (CSE_SPACE_INPUT of the graph) with microbatch m of step `step`, a pure function of
 * them. */
typedef struct cse_microbatch_source {
    void *self;
    cse_status (*read)(void *self, int64_t step, int64_t m, void *bytes);
} cse_microbatch_source;

/* A source that reads `loader` (borrowed) and arranges its streams as `graph` (borrowed) wants
 * them. CSE_CONFIG when a stream is missing or has another shape or type. */
cse_status cse_loader_source_new(cse_dataloader *loader, const cse_graph *graph,
                                 cse_microbatch_source **source);
void cse_loader_source_destroy(cse_microbatch_source **source);

#endif

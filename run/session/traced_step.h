/* Values of committed steps, and the trace of a step over the data of a loader. */
#ifndef CSE_RUN_SESSION_TRACED_STEP_H
#define CSE_RUN_SESSION_TRACED_STEP_H

#include "engine/nn/handles.h"

typedef struct cse_session cse_session;
struct cse_stream;

/* Values of one committed step: the entries `fetches` of the graph's fetched values. */
struct cse_values {
    const cse_graph *graph;
    const unsigned char *fetched;
    const int *fetches;
    int count;
    int64_t step;
};

/* Finds the next named scalar ("loss", "lr/0", "grad_norm") of a committed step from *index on, and
 * moves *index past it; false at the end. Names live as long as the step. */
bool cse_values_named(const cse_values *values, int *index, const char **name, double *value);

/* Whether the value is recorded as a series: a named float32 scalar, other than the sums of squares
 * that explain an overflow. */
bool cse_fetch_is_metric(const cse_fetch_entry *fetch);

/* Traces `function` for microbatches of `loader`'s streams. The caller releases both
 * `loader` and the step. */
struct cse_dataloader;
cse_status cse_step_trace(cse_session *session, const struct cse_dataloader *loader,
                          cse_step_function *function, void *self, cse_step **step);
/* The same into `graph`, which becomes the step's. */
cse_status cse_step_trace_graph(cse_session *session, cse_graph *graph, cse_step_function *function,
                                void *self, cse_step **step);
/* A graph with the loader's streams, in microbatches of another size, for plans of what is not run.
 * The size divides a batch. */
cse_graph *cse_graph_of_size(const struct cse_dataloader *loader, int64_t micro_batch_size);
/* Adds an input to the graph, whose rows (the first axis) are those of a microbatch, at
 * `offset_bytes` of the microbatch. */
cse_tensor *cse_graph_add_input(cse_graph *graph, const struct cse_stream *stream,
                                int64_t offset_bytes);

#endif

/* The collector of a program's tensor statistics; see tensor_statistics.h. */
#include "engine/code/execute/tensor_statistics.h"

#include <assert.h>

#include "engine/code/execute/value_log.h"

static void note_microbatch(cse_tensor_statistics *record, int64_t microbatch)
{
    if (record->first_microbatch == 0 || microbatch + 1 < record->first_microbatch)
        record->first_microbatch = microbatch + 1;
}

/* In the type in which the collector gets them. */
static cse_dtype stored_dtype(const cse_tracked_tensor *tensor)
{
    return tensor->scratch_offset >= 0 ? CSE_FLOAT32 : tensor->node->dtype;
}

static void keep_values(const cse_statistics_collector *self, const cse_frame *frame, int tracked,
                        const void *values)
{
    const cse_tracked_tensor *tensor = &self->graph->tracked[tracked];
    const cse_value_run run = {
        .step = frame->step + 1,
        .microbatch = tensor->node->batch || tensor->kind == CSE_TRACKED_GRADIENT
                          ? frame->first_sample / self->graph->micro_batch_size
                          : CSE_VALUES_OF_STEP,
        .tensor = tracked,
        .count = cse_shape_elements(tensor->node->shape),
    };
    cse_value_log_add_of(self->values, &run, stored_dtype(tensor), values);
}

/* A tensor that does not depend on the microbatch is counted only with the first one. The gradient
 * of a microbatch is only searched for NaNs and infinities, because the sum of all is counted
 * later. */
static void count_tensor(cse_statistics_collector *self, const cse_frame *frame, int tracked,
                         const void *values)
{
    const cse_tracked_tensor *tensor = &self->graph->tracked[tracked];
    cse_tensor_statistics *record = &self->records[tracked];
    const bool in_batch = tensor->node->batch;
    const int64_t microbatch = in_batch ? frame->first_sample / self->graph->micro_batch_size : 0;
    const int64_t count = cse_shape_elements(tensor->node->shape);
    if (!in_batch && tensor->node->part == CSE_PART_REPLICA && frame->first_sample != 0)
        return;
    if (tensor->whole && self->values != NULL)
        keep_values(self, frame, tracked, values);
    if (tensor->kind == CSE_TRACKED_GRADIENT) {
        if (cse_has_nonfinite(values, count))
            note_microbatch(record, microbatch);
        return;
    }
    const uint64_t nonfinite = record->nan + record->infinite;
    const cse_dtype rounded = tensor->node->dtype;
    const cse_tensor_values run = {
        .values = values,
        .stored = stored_dtype(tensor),
        .rounded = rounded,
        .count = count,
        .first_index = microbatch * count,
    };
    assert(tracked >= 0 && tracked < self->graph->tracked_count);
    cse_tensor_statistics_count(record, &run);
    if (in_batch && record->nan + record->infinite > nonfinite)
        note_microbatch(record, microbatch);
}

void cse_statistics_collector_init(cse_statistics_collector *collector, const cse_graph *graph,
                                   cse_tensor_statistics *records, unsigned char *scratch)
{
    *collector = (cse_statistics_collector){
        .count = count_tensor, .scratch = scratch, .graph = graph, .records = records
    };
}

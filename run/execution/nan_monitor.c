/* The first tensor that is not finite is the first in execution order within the earliest affected
 * microbatch: its inputs were computed before it and are finite. */
#include "run/execution/nan_monitor.h"

#include <stdlib.h>

#include "engine/base/arena.h"
#include "engine/base/text.h"
#include "engine/code/execute/tensor_statistics.h"

enum { MOST_NAMES = 4 };

struct cse_nan_monitor {
    const cse_graph *graph;
    cse_text text; /* about the first of the latest steps that were not finite */
};

cse_nan_monitor *cse_nan_monitor_new(const cse_graph *graph)
{
    if (graph->tracked_count == 0)
        return NULL;
    cse_nan_monitor *monitor = cse_calloc(1, sizeof *monitor);
    monitor->graph = graph;
    return monitor;
}

void cse_nan_monitor_destroy(cse_nan_monitor **monitor)
{
    if (*monitor == NULL)
        return;
    cse_text_clear(&(*monitor)->text);
    free(*monitor);
    *monitor = NULL;
}

static bool is_bad(const cse_tensor_statistics *record)
{
    return record->nan + record->infinite > 0 || record->first_microbatch > 0;
}

/* States are computed before every microbatch, sums over the batch after all of them. */
static int64_t microbatch_of(const cse_graph *graph, int i, const cse_tensor_statistics *record)
{
    if (graph->tracked[i].kind == CSE_TRACKED_STATE)
        return 0;
    return record->first_microbatch > 0 ? record->first_microbatch : INT64_MAX;
}

/* Index of the first tensor that is not finite; -1: all are finite. */
static int first_bad(const cse_graph *graph, const cse_tensor_statistics *records)
{
    int first = -1;
    for (int i = 0; i < graph->tracked_count; i++)
        if (is_bad(&records[i]) && (first < 0 || microbatch_of(graph, i, &records[i]) <
                                                     microbatch_of(graph, first, &records[first])))
            first = i;
    return first;
}

static void describe(const cse_nan_monitor *monitor, int i, const cse_tensor_statistics *record,
                     cse_text *out)
{
    const cse_tracked_tensor *o = &monitor->graph->tracked[i];
    cse_text_add(out, "%s (", o->name);
    if (o->source != o->node->dtype)
        cse_text_add(out, "%s to ", cse_dtype_name(o->source));
    cse_text_add(out, "%s", cse_dtype_name(o->node->dtype));
    if (record->saturated > 0)
        cse_text_add(out, ", %llu of %llu values too large for it",
                     (unsigned long long)record->saturated, (unsigned long long)record->count);
    else if (record->count > 0)
        cse_text_add(out, ", %llu infinite and %llu NaN of %llu",
                     (unsigned long long)record->infinite, (unsigned long long)record->nan,
                     (unsigned long long)record->count);
    if (o->node->file != NULL)
        cse_text_add(out, ", %s:%d", o->node->file, o->node->line);
    cse_text_add(out, ")");
}

static void describe_step(cse_nan_monitor *monitor, const cse_record *record, int first)
{
    const cse_tensor_statistics *records = record->statistics;
    int named = 0;
    cse_text_add(&monitor->text, "; the first tensor seen not finite is ");
    describe(monitor, first, &records[first], &monitor->text);
    cse_text_add(&monitor->text, " at step %lld", (long long)record->step + 1);
    if (records[first].first_microbatch > 0)
        cse_text_add(&monitor->text, ", microbatch %lld",
                     (long long)records[first].first_microbatch - 1);
    for (int i = 0; i < monitor->graph->tracked_count; i++) {
        if (i == first || records[i].saturated == 0 || ++named > MOST_NAMES)
            continue;
        cse_text_add(&monitor->text, "%s", named == 1 ? "; also too large: " : ", ");
        cse_text_add(&monitor->text, "%s", monitor->graph->tracked[i].name);
    }
    if (named > MOST_NAMES)
        cse_text_add(&monitor->text, " and %d others", named - MOST_NAMES);
}

void cse_nan_monitor_record(cse_nan_monitor *monitor, const cse_record *record)
{
    if (monitor == NULL || record->statistics == NULL)
        return;
    const int first = first_bad(monitor->graph, record->statistics);
    if (first < 0)
        cse_text_clear(&monitor->text);
    else if (monitor->text.size == 0)
        describe_step(monitor, record, first);
}

const char *cse_nan_monitor_text(const cse_nan_monitor *monitor)
{
    return monitor != NULL && monitor->text.data != NULL ? monitor->text.data : "";
}

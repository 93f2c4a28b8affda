/* The fewest regions whose recomputation keeps a replica within its memory limit.
 *
 * How much memory a step needs is known only after fusion, order and memory plan, so these passes
 * are run over copies of the graph: with all regions, then by halving. The first regions are taken
 * before later ones, since the backward pass comes to them last: their values would be kept for
 * longest. */
#include <stdlib.h>

#include "engine/graph/pack.h"
#include "engine/graph/passes/pass.h"
#include "engine/graph/passes/recompute.h"

static cse_status copy_of(const cse_graph *graph, cse_graph **copy)
{
    cse_text packed = { 0 };
    cse_graph_pack(graph, NULL, &packed);
    const unsigned char *bytes = (const unsigned char *)packed.data;
    cse_unpacker from = { .at = bytes, .end = bytes + packed.size };
    cse_status status = cse_graph_unpack(&from, NULL, copy);
    cse_text_clear(&packed);
    return status;
}

/* Bytes of a replica's workspace when the first `count` regions are recomputed. */
static cse_status workspace_of(const cse_graph *graph, const cse_recompute_regions *regions,
                               int count, int64_t *bytes)
{
    cse_graph *copy = NULL;
    CSE_TRY(copy_of(graph, &copy));
    if (count > 0)
        cse_recompute_apply(copy, regions, count);
    cse_status status = cse_pass_partition(copy, true);
    if (status == CSE_OK)
        status = cse_pass_fusion(copy, true);
    if (status == CSE_OK)
        status = cse_pass_order(copy, true);
    if (status == CSE_OK)
        status = cse_pass_memory_plan(copy, true);
    *bytes = copy->space_bytes[CSE_SPACE_REPLICA];
    cse_graph_destroy(&copy);
    return status;
}

cse_status cse_recompute_choose(const cse_graph *graph, const cse_recompute_regions *regions,
                                int *count)
{
    const int64_t limit = graph->recompute != NULL ? graph->recompute->memory_limit_bytes : 0;
    int64_t bytes = 0;
    *count = regions->count;
    if (limit == 0)
        return CSE_OK;
    CSE_TRY(workspace_of(graph, regions, regions->count, &bytes));
    if (bytes > limit)
        return cse_fail(CSE_CONFIG,
                        "recompute: a replica needs %lld MiB with all %d regions recomputed, and "
                        "memory_limit_mib is %lld; give more memory, more regions (scopes), or a "
                        "smaller micro_batch_size",
                        (long long)((bytes + (1 << 20) - 1) >> 20), regions->count,
                        (long long)(limit >> 20));
    int least = 0; /* as many may be too few; *count is enough */
    while (least < *count) {
        const int middle = least + (*count - least) / 2;
        CSE_TRY(workspace_of(graph, regions, middle, &bytes));
        if (bytes <= limit)
            *count = middle;
        else
            least = middle + 1;
    }
    return CSE_OK;
}

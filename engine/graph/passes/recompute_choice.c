/* The least recomputation that keeps a replica within its memory limit.
 *
 * Elementwise ops, norms and copies are recomputed before anything else: they read and write each
 * value once, in a loop that often runs with what follows anyway, where a product takes its width
 * times as many operations, and they make about half of the values. Only where that is too little
 * are regions recomputed wholly.
 *
 * How much memory a step needs is known only after fusion, order and memory plan, so these passes
 * are run over copies of the graph, by halving. The first regions are taken before later ones,
 * since the backward pass comes to them last: their values would be kept for longest. */
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
    if (status == CSE_OK)
        (*copy)->streams_states = graph->streams_states;
    cse_text_clear(&packed);
    return status;
}

typedef struct search {
    const cse_graph *graph;
    const cse_recompute_regions *regions;
    int64_t limit_bytes;
    cse_recompute_extent extent;
    int64_t bytes; /* of a replica's workspace, with the extent that was tried last */
} search;

static cse_status try_extent(search *s)
{
    cse_graph *copy = NULL;
    CSE_TRY(copy_of(s->graph, &copy));
    cse_recompute_apply(copy, s->regions, &s->extent);
    cse_status status = cse_pass_partition(copy, true);
    if (status == CSE_OK)
        status = cse_pass_fusion(copy, true);
    if (status == CSE_OK)
        status = cse_pass_order(copy, true);
    if (status == CSE_OK)
        status = cse_pass_memory_plan(copy, true);
    s->bytes = copy->space_bytes[CSE_SPACE_REPLICA];
    cse_graph_destroy(&copy);
    return status;
}

/* Makes a number of the extent, which suffices, the least that does; `least`: fewer are not tried.
 */
static cse_status find_least(search *s, int *number, int least)
{
    int enough = *number;
    while (least < enough) {
        *number = least + (enough - least) / 2;
        CSE_TRY(try_extent(s));
        if (s->bytes <= s->limit_bytes)
            enough = *number;
        else
            least = *number + 1;
    }
    *number = enough;
    return CSE_OK;
}

static cse_status find_wholly(search *s)
{
    const int count = s->regions->count;
    s->extent.whole = count;
    CSE_TRY(try_extent(s));
    if (s->bytes > s->limit_bytes)
        return cse_fail(CSE_CONFIG,
                        "recompute: a replica needs %lld MiB with all %d regions recomputed, and "
                        "memory_limit_mib is %lld; give more memory, more regions (scopes), or a "
                        "smaller micro_batch_size",
                        (long long)((s->bytes + (1 << 20) - 1) >> 20), count,
                        (long long)(s->limit_bytes >> 20));
    CSE_TRY(find_least(s, &s->extent.whole, 1));
    return find_least(s, &s->extent.light, s->extent.whole);
}

cse_status cse_recompute_choose(const cse_graph *graph, const cse_recompute_regions *regions,
                                cse_recompute_extent *extent)
{
    search s = { .graph = graph, .regions = regions };
    *extent = (cse_recompute_extent){ .whole = regions->count };
    s.limit_bytes = graph->recompute != NULL ? graph->recompute->memory_limit_bytes : 0;
    if (s.limit_bytes == 0)
        return CSE_OK;
    s.extent.light = regions->count;
    CSE_TRY(try_extent(&s));
    CSE_TRY(s.bytes <= s.limit_bytes ? find_least(&s, &s.extent.light, 0) : find_wholly(&s));
    *extent = s.extent;
    return CSE_OK;
}

/* Ranges begin and end at multiples of what the loops of a sum work on at once, so that those of
 * neighbouring tensors become one. */
#include "workers/arena/gradient_ranges.h"

#include <stdlib.h>

#include "engine/base/arena.h"
#include "workers/arena/state_ranges.h"
#include "workers/arena/sums.h"

enum { UNIT = 16, PAGE_BYTES = 4096 };

/* ---- elements ---- */

static int compare_ranges(const void *a, const void *b)
{
    const cse_element_range *left = a, *right = b;
    return (left->first > right->first) - (left->first < right->first);
}

static int join_ranges(cse_element_range *ranges, int count)
{
    int last = 0;
    qsort(ranges, (size_t)count, sizeof *ranges, compare_ranges);
    for (int i = 1; i < count; i++) {
        if (ranges[i].first > ranges[last].end)
            ranges[++last] = ranges[i];
        else if (ranges[i].end > ranges[last].end)
            ranges[last].end = ranges[i].end;
    }
    return last + 1;
}

static cse_element_range rounded(const cse_arena_head *head, int64_t first, int64_t end)
{
    const int64_t most = head->gradient_bytes / 4;
    const int64_t up = (end + UNIT - 1) / UNIT * UNIT;
    return (cse_element_range){ first / UNIT * UNIT, up < most ? up : most };
}

static int add_chunk(const cse_graph *graph, const cse_arena_head *head, int chunk,
                     cse_element_range *ranges)
{
    int count = 0;
    for (int64_t line = 0;;) {
        const cse_update_part part = cse_update_part_of(head, graph, chunk, line);
        if (part.group < 0)
            return count;
        const int64_t offset = cse_sums_direct_offset(graph, part.group, head->joined_bytes);
        const int64_t last = graph->groups[part.group].elements;
        const int64_t end = part.end * CSE_LINE_ELEMENTS;
        if (offset >= 0)
            ranges[count++] = rounded(head, offset / 4 + part.first * CSE_LINE_ELEMENTS,
                                      offset / 4 + (end < last ? end : last));
        line += part.end - part.first;
    }
}

int cse_gradient_ranges_find(const cse_graph *graph, const cse_arena_head *head,
                             const cse_host_set *owners, int host, cse_element_range *items)
{
    /* A group has a part in each chunk that it reaches into. */
    const size_t most = (size_t)graph->group_count + (size_t)head->update_chunks + 1;
    cse_element_range *found = cse_calloc(most, sizeof *found);
    int count = 1; /* what REDUCE joins */
    found[0] = rounded(head, 0, cse_hosts_have(owners, host) ? head->joined_bytes / 4 : 0);
    for (int c = 0; c < head->update_chunks; c++)
        if (cse_chunk_is_of(head, owners, host, c))
            count += add_chunk(graph, head, c, found + count);
    count = join_ranges(found, count);
    const int skipped = count > 1 && found[0].first == found[0].end;
    for (int i = skipped; i < count && items != NULL; i++)
        items[i - skipped] = found[i];
    free(found);
    return count - skipped;
}

cse_stripes cse_sent_elements(const cse_cluster *cluster, int host)
{
    const cse_arena_head *head = cluster->head;
    if (head->gradient_cut != CSE_GRADIENTS_BY_PARTS)
        return cse_stripes_whole(head->gradient_bytes / 4);
    const int32_t *at = cluster->gradient_hosts + host;
    return (cse_stripes){ .elements = head->gradient_bytes / 4,
                          .rounds = at[1] - at[0],
                          .items = cluster->gradient_ranges + at[0] };
}

/* ---- memory ---- */

static int add_pages(const cse_segments *segments, const int64_t range[2], cse_byte_range *spans,
                     int count)
{
    cse_segment_part p;
    for (int i = 0; i < segments->count; i++) {
        if (!cse_segment_part_of(segments->items[i], range, &p))
            continue;
        const int64_t width = p.segment.rounded ? 2 : 4;
        const int64_t at = 4 * p.segment.first + width * p.skip;
        const int64_t first = at / PAGE_BYTES * PAGE_BYTES;
        const int64_t end = (at + width * p.count + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
        if (count > 0 && first <= spans[count - 1].end)
            spans[count - 1].end = end;
        else
            spans[count++] = (cse_byte_range){ .first = first, .end = end };
    }
    return count;
}

int cse_sent_pages(const cse_segments *segments, const cse_stripes *sent, cse_byte_range **spans)
{
    /* Each range may begin and end within a segment. */
    *spans = cse_calloc((size_t)segments->count + (size_t)sent->rounds + 1, sizeof **spans);
    int count = 0;
    for (int round = 0; round < sent->rounds; round++) {
        int64_t range[2];
        cse_stripe_of(sent, round, range);
        if (range[0] < range[1])
            count = add_pages(segments, range, *spans, count);
    }
    return count;
}

/* A page belongs to the range in which it lies as a whole; one on a border has no place. */
#include "workers/arena/arena_nodes.h"

#include <linux/mempolicy.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "engine/base/arena.h"
#include "workers/arena/unit_ranges.h"

enum { PAGE_BYTES = 4096, MOST_NODES = 1024, WORD_BITS = 8 * sizeof(unsigned long) };

/* Ranges come in the order of the arena. */
static void add(cse_node_ranges *ranges, int64_t first, int64_t bytes, int node)
{
    const int64_t end = (first + bytes) / PAGE_BYTES * PAGE_BYTES;
    first = (first + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
    cse_node_range *last = ranges->count > 0 ? &ranges->items[ranges->count - 1] : NULL;
    if (last != NULL && first < last->end)
        first = last->end; /* written by two nodes of a group */
    if (first >= end || node < 0)
        return;
    if (last != NULL && last->node == node && first - last->end <= PAGE_BYTES) {
        last->end = end; /* with the page that two neighbours of one place share */
        return;
    }
    CSE_GROW(ranges->items, ranges->count, ranges->capacity);
    ranges->items[ranges->count++] = (cse_node_range){ first, end, node };
}

/* The part of `count` things that process `index` of `processes` begins with contains `thing`. */
static int owner_of(int thing, int count, int processes)
{
    int owner = (int)(((int64_t)thing + 1) * processes / count);
    owner = owner < processes ? owner : processes - 1;
    while (owner > 0 && (int64_t)owner * count / processes > thing)
        owner--;
    return owner;
}

/* Microbatches of other hosts are of no replica here; their sums come to where the creator runs. */
static int node_of_microbatch(const cse_cluster_layout *layout, const cse_arena_head *head,
                              const cse_arena_nodes *nodes, int microbatch)
{
    const bool alone = head->host_count == 1;
    const int first = alone ? 0 : layout->cut->bounds[head->host];
    const int end = alone ? head->microbatches : layout->cut->bounds[head->host + 1];
    if (microbatch < first || microbatch >= end)
        return -1;
    return nodes->replicas[owner_of(microbatch - first, end - first, head->replicas)];
}

static void add_microbatches(const cse_cluster_layout *layout, const cse_arena_head *head,
                             const cse_arena_nodes *nodes, cse_node_ranges *ranges)
{
    for (int p = 0; p < head->ring_count && head->ring_count % head->microbatches == 0; p++)
        add(ranges, head->input_offset + p * head->input_stride, head->input_stride,
            node_of_microbatch(layout, head, nodes, p % head->microbatches));
    for (int m = 0; m < head->microbatches; m++)
        add(ranges, head->partial_sums_offset + m * head->partial_sum_stride,
            head->partial_sum_stride, node_of_microbatch(layout, head, nodes, m));
}

static int node_of_chunk(const cse_arena_head *head, const cse_arena_nodes *nodes, int chunk,
                         int chunks)
{
    return head->weight_servers > 0
               ? nodes->weight_servers[owner_of(chunk, chunks, head->weight_servers)]
               : nodes->replicas[owner_of(chunk, chunks, head->replicas)];
}

static void add_reduced(const cse_arena_head *head, const cse_arena_nodes *nodes,
                        cse_node_ranges *ranges)
{
    const int64_t all = cse_arena_reduced_bytes(head), each = head->reduce_chunk_elements * 4;
    for (int chunk = 0; chunk < head->reduce_chunks && chunk * each < all; chunk++) {
        const int64_t left = all - chunk * each;
        add(ranges, head->reduced_offset + chunk * each, left < each ? left : each,
            node_of_chunk(head, nodes, chunk, head->reduce_chunks));
    }
}

/* What UPDATE writes of each state, in the order of the states' bytes and not of the chunks', so
 * that neighbours meet. */
static int by_place(const void *a, const void *b)
{
    const cse_node_range *left = a, *right = b;
    return (left->first > right->first) - (left->first < right->first);
}

static void add_states(const cse_cluster_layout *layout, const cse_arena_head *head,
                       const cse_arena_nodes *nodes, cse_node_ranges *ranges)
{
    const cse_cluster view = { .head = head };
    cse_space_places places;
    cse_ranges touched = { 0 };
    cse_node_ranges found = { 0 };
    for (int space = 0; space < CSE_SPACE_COUNT; space++)
        places.at[space] = space == CSE_SPACE_STATE ? head->states_offset : -1;
    for (int chunk = 0; chunk < head->update_chunks; chunk++) {
        const int node = node_of_chunk(head, nodes, chunk, head->update_chunks);
        for (int64_t line = 0;;) {
            const cse_update_part part = cse_arena_update_part(&view, layout->graph, chunk, line);
            if (part.group < 0)
                break;
            touched.count = 0;
            cse_update_ranges(layout->graph, part.group, (int64_t[]){ part.first, part.end },
                              &places, &touched);
            for (int i = 0; i < touched.count; i++) {
                if (!touched.items[i].written)
                    continue;
                CSE_GROW(found.items, found.count, found.capacity);
                found.items[found.count++] =
                    (cse_node_range){ touched.items[i].first, touched.items[i].end, node };
            }
            line += part.end - part.first;
        }
    }
    if (found.count > 0)
        qsort(found.items, (size_t)found.count, sizeof *found.items, by_place);
    for (int i = 0; i < found.count; i++)
        add(ranges, found.items[i].first, found.items[i].end - found.items[i].first,
            found.items[i].node);
    cse_ranges_clear(&touched);
    free(found.items);
}

void cse_arena_node_ranges(const cse_cluster_layout *layout, const cse_arena_head *head,
                           const cse_arena_nodes *nodes, cse_node_ranges *ranges)
{
    *ranges = (cse_node_ranges){ .count = 0 };
    if (head->resident_bytes > 0)
        return;
    add_reduced(head, nodes, ranges);
    add_states(layout, head, nodes, ranges);
    add_microbatches(layout, head, nodes, ranges);
}

int cse_arena_nodes_set(int descriptor, int64_t bytes, const cse_node_ranges *ranges)
{
    unsigned char *base = mmap(NULL, (size_t)bytes, PROT_NONE, MAP_SHARED, descriptor, 0);
    int taken = 0;
    for (int i = 0; i < ranges->count && base != MAP_FAILED; i++) {
        const cse_node_range *r = &ranges->items[i];
        unsigned long mask[MOST_NODES / WORD_BITS] = { 0 };
        if (r->node >= MOST_NODES)
            continue;
        mask[r->node / (int)WORD_BITS] = 1UL << (r->node % (int)WORD_BITS);
        taken += syscall(SYS_mbind, base + r->first, r->end - r->first, MPOL_PREFERRED, mask,
                         (unsigned long)MOST_NODES, 0) == 0;
    }
    if (base != MAP_FAILED)
        munmap(base, (size_t)bytes);
    return taken;
}

/* Who reads a state is asked of the nodes of the programs: the passes leave no other readers. */
#include "workers/arena/state_ranges.h"

#include <stdlib.h>
#include <string.h>

#include "workers/arena/state_digests.h"

/* ---- which states all hosts need ---- */

static void mark_inputs(const cse_node *node, bool *read)
{
    for (int i = 0; i < node->input_count; i++)
        if (node->inputs[i]->op == &cse_op_state)
            read[node->inputs[i]->attributes.integers[0]] = true;
}

/* By state: whether a program other than UPDATE reads it. */
static bool *find_shared(const cse_graph *graph)
{
    bool *read = cse_calloc((size_t)graph->state_count + 1, sizeof *read);
    for (int n = 0; n < graph->node_count; n++)
        if (graph->nodes[n]->part == CSE_PART_REPLICA || graph->nodes[n]->part == CSE_PART_WEIGHTS)
            mark_inputs(graph->nodes[n], read);
    return read;
}

/* ---- the table ---- */

typedef struct table {
    const cse_graph *graph;
    const bool *shared;
    cse_state_range *items; /* NULL: counted alone */
    int count;
} table;

static void add_state(table *t, const cse_state_entry *state, const cse_update_part *part,
                      int64_t elements)
{
    const int64_t size = (int64_t)cse_dtype_size(state->dtype);
    const int64_t first = part->first * CSE_LINE_ELEMENTS, last = part->end * CSE_LINE_ELEMENTS;
    const int64_t end = last < elements ? last : elements;
    if (t->items != NULL)
        t->items[t->count] =
            (cse_state_range){ state->offset_bytes + first * size, (end - first) * size };
    t->count++;
}

/* A single value is no array of an optimizer's: it stays on all hosts. */
static void add_part(table *t, cse_state_share share, const cse_update_part *part)
{
    const cse_group *group = &t->graph->groups[part->group];
    for (int n = 0; n < group->node_count; n++) {
        const cse_node *node = group->nodes[n];
        if (node->op != &cse_op_assign)
            continue;
        const int state = (int)node->attributes.integers[0];
        const bool is_own = !t->shared[state] && group->elements > 1;
        if (is_own == (share == CSE_STATES_OWN))
            add_state(t, &t->graph->states[state], part, group->elements);
    }
}

int cse_state_ranges_find(const cse_graph *graph, const cse_arena_head *head,
                          cse_state_range *items, cse_state_chunk *chunks)
{
    bool *shared = find_shared(graph);
    table t = { .graph = graph, .shared = shared, .items = items };
    for (int chunk = 0; chunk < head->update_chunks; chunk++)
        for (int share = 0; share <= CSE_STATE_SHARES; share++) {
            if (chunks != NULL)
                chunks[chunk].ranges[share] = t.count;
            for (int64_t line = 0; share < CSE_STATE_SHARES;) {
                const cse_update_part part = cse_update_part_of(head, graph, chunk, line);
                if (part.group < 0)
                    break;
                add_part(&t, (cse_state_share)share, &part);
                line += part.end - part.first;
            }
        }
    free(shared);
    return t.count;
}

/* ---- what is absent ---- */

bool cse_chunk_is_of(const cse_arena_head *head, const cse_host_set *owners, int host, int chunk)
{
    for (int copy = 0; copy < head->state_copies; copy++)
        if (cse_state_owner(owners, head->update_chunks, chunk, copy) == host)
            return true;
    return false;
}

static int compare_spans(const void *a, const void *b)
{
    const cse_byte_range *left = a, *right = b;
    return left->first < right->first ? -1 : left->first > right->first;
}

/* Neighbours become one, so that only the ends of a run of chunks share a page with others. */
static int join_spans(cse_byte_range *spans, int count)
{
    int last = -1;
    qsort(spans, (size_t)count, sizeof *spans, compare_spans);
    for (int i = 0; i < count; i++) {
        if (last >= 0 && spans[i].first == spans[last].end)
            spans[last].end = spans[i].end;
        else
            spans[++last] = spans[i];
    }
    return last + 1;
}

int cse_absent_states(const cse_graph *graph, const cse_arena_head *head,
                      const cse_host_set *owners, int host, cse_byte_range **spans)
{
    const int count = cse_state_ranges_find(graph, head, NULL, NULL);
    cse_state_range *items = cse_calloc((size_t)count + 1, sizeof *items);
    cse_state_chunk *chunks = cse_calloc((size_t)head->update_chunks + 1, sizeof *chunks);
    int found = 0;
    *spans = cse_calloc((size_t)count + 1, sizeof **spans);
    cse_state_ranges_find(graph, head, items, chunks);
    for (int c = 0; c < head->update_chunks; c++)
        for (int r = chunks[c].ranges[CSE_STATES_OWN];
             r < chunks[c].ranges[CSE_STATE_SHARES] && !cse_chunk_is_of(head, owners, host, c); r++)
            (*spans)[found++] =
                (cse_byte_range){ .first = items[r].first, .end = items[r].first + items[r].bytes };
    free(items);
    free(chunks);
    return join_spans(*spans, found);
}

/* ---- owners ---- */

bool cse_chunk_has_owner(const cse_cluster *cluster, int chunk, int host)
{
    for (int copy = 0; copy < cluster->head->state_copies; copy++)
        if (cluster->state_chunks[chunk].owners[copy] == host)
            return true;
    return false;
}

bool cse_chunk_is_kept(const cse_cluster *cluster, int chunk)
{
    return !cse_states_are_cut(cluster) || cse_chunk_has_owner(cluster, chunk, cluster->head->host);
}

int cse_chunk_sender(const cse_cluster *cluster, int chunk)
{
    for (int copy = 0; copy < cluster->head->state_copies; copy++) {
        const int host = cluster->state_chunks[chunk].owners[copy];
        if (!cse_arena_is_lost(cluster, host))
            return host;
    }
    return -1;
}

bool cse_states_are_lost(const cse_cluster *cluster)
{
    for (int c = 0; cse_states_are_cut(cluster) && c < cluster->head->update_chunks; c++)
        if (cse_chunk_sender(cluster, c) < 0)
            return true;
    return false;
}

bool cse_states_may_change(const cse_cluster *cluster, int64_t step)
{
    return !cse_states_are_cut(cluster) || cluster->head->leader == cluster->head->host ||
           atomic_load(&cluster->hosts->leader_ready) > step;
}

/* ---- bytes of a chunk ---- */

int64_t cse_chunk_bytes(const cse_cluster *cluster, int chunk, cse_state_share share)
{
    const cse_state_chunk *of = &cluster->state_chunks[chunk];
    int64_t bytes = 0;
    for (int r = of->ranges[share]; r < of->ranges[share + 1]; r++)
        bytes += cluster->state_ranges[r].bytes;
    return bytes;
}

/* The next run of bytes from `at` on, at most up to `end`: *state is its place among the states. */
static int64_t next_run(const cse_cluster *cluster, const cse_state_chunk *of,
                        cse_state_share share, const int64_t range[2], int64_t *state)
{
    int64_t before = 0;
    for (int r = of->ranges[share]; r < of->ranges[share + 1]; r++) {
        const cse_state_range *one = &cluster->state_ranges[r];
        const int64_t skip = range[0] - before;
        if (skip < one->bytes) {
            *state = one->first + skip;
            const int64_t left = range[1] - range[0];
            return one->bytes - skip < left ? one->bytes - skip : left;
        }
        before += one->bytes;
    }
    return 0;
}

void cse_chunk_take(const cse_cluster *cluster, int chunk, cse_state_share share,
                    const int64_t range[2], unsigned char *bytes)
{
    int64_t state, count;
    for (int64_t left[2] = { range[0], range[1] }; left[0] < left[1]; left[0] += count) {
        count = next_run(cluster, &cluster->state_chunks[chunk], share, left, &state);
        assert(count > 0);
        memcpy(bytes + (left[0] - range[0]), cse_arena_states(cluster) + state, (size_t)count);
    }
}

void cse_chunk_put(const cse_cluster *cluster, int chunk, cse_state_share share,
                   const int64_t range[2], const unsigned char *bytes)
{
    int64_t state, count;
    for (int64_t left[2] = { range[0], range[1] }; left[0] < left[1]; left[0] += count) {
        count = next_run(cluster, &cluster->state_chunks[chunk], share, left, &state);
        assert(count > 0);
        memcpy(cse_arena_states(cluster) + state, bytes + (left[0] - range[0]), (size_t)count);
    }
}

uint64_t cse_shared_digest(const cse_cluster *cluster, int chunk)
{
    const cse_state_chunk *of = &cluster->state_chunks[chunk];
    uint64_t digest = 0;
    for (int r = of->ranges[CSE_STATES_SHARED]; r < of->ranges[CSE_STATES_SHARED + 1]; r++) {
        const cse_state_range *one = &cluster->state_ranges[r];
        const uint64_t next =
            cse_range_digest(cse_arena_states(cluster) + one->first, (size_t)one->bytes);
        digest = (digest ^ next) * UINT64_C(0x9e3779b97f4a7c15);
        digest ^= digest >> 29;
    }
    return digest;
}

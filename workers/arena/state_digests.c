/* Products in many lanes, so that none waits for the one before, and vectors hold several. */
#include "workers/arena/state_digests.h"

#include <string.h>

#include "engine/base/vector_clones.h"

enum { LANES = 32 };
#define FACTOR UINT64_C(0x9e3779b97f4a7c15)

CSE_VECTOR_INLINE uint64_t mix(uint64_t digest, uint64_t word)
{
    digest = (digest ^ word) * FACTOR;
    return digest ^ digest >> 29;
}

/* Whole rounds of all lanes; returns how many bytes they take. */
CSE_VECTOR_CLONES(size_t, mix_rounds, (uint64_t * lanes, const unsigned char *bytes, size_t size),
                  (lanes, bytes, size))
{
    uint64_t words[LANES], mixed[LANES];
    size_t at = 0;
    memcpy(mixed, lanes, sizeof mixed);
    for (; size - at >= sizeof words; at += sizeof words) {
        memcpy(words, bytes + at, sizeof words);
        for (int i = 0; i < LANES; i++)
            mixed[i] = mix(mixed[i], words[i]);
    }
    memcpy(lanes, mixed, sizeof mixed);
    return at;
}

CSE_VECTOR_CLONES(void, mix_zeros, (uint64_t * lanes, size_t rounds), (lanes, rounds))
{
    uint64_t mixed[LANES];
    memcpy(mixed, lanes, sizeof mixed);
    for (size_t round = 0; round < rounds; round++)
        for (int i = 0; i < LANES; i++)
            mixed[i] = mix(mixed[i], 0);
    memcpy(lanes, mixed, sizeof mixed);
}

static void begin_lanes(uint64_t lanes[LANES])
{
    for (int i = 0; i < LANES; i++)
        lanes[i] = (uint64_t)i + 1;
}

/* `words`: the bytes after the last whole round, then zeros. */
static uint64_t join_lanes(const uint64_t lanes[LANES], const uint64_t words[LANES], size_t size)
{
    uint64_t digest = size;
    for (int i = 0; i < LANES; i++)
        digest = mix(digest, mix(lanes[i], words[i]));
    return digest;
}

uint64_t cse_range_digest(const unsigned char *bytes, size_t size)
{
    uint64_t lanes[LANES], words[LANES] = { 0 };
    begin_lanes(lanes);
    const size_t at = mix_rounds(lanes, bytes, size);
    memcpy(words, bytes + at, size - at);
    return join_lanes(lanes, words, size);
}

uint64_t cse_zeros_digest(size_t size)
{
    uint64_t lanes[LANES];
    const uint64_t words[LANES] = { 0 };
    begin_lanes(lanes);
    mix_zeros(lanes, size / sizeof words);
    return join_lanes(lanes, words, size);
}

/* The elements of a state that lie in lines [first, end) of its group; the last line of a group may
 * be shorter than the others. */
static uint64_t state_digest(const cse_cluster *cluster, const cse_state_entry *state,
                             const cse_update_part *part, int64_t elements)
{
    const int64_t size = (int64_t)cse_dtype_size(state->dtype);
    const int64_t first = part->first * CSE_LINE_ELEMENTS;
    int64_t end = part->end * CSE_LINE_ELEMENTS;
    end = end < elements ? end : elements;
    return cse_range_digest(cse_arena_states(cluster) + state->offset_bytes + first * size,
                            (size_t)((end - first) * size));
}

uint64_t cse_chunk_digest(const cse_cluster *cluster, const cse_graph *graph, int chunk)
{
    uint64_t digest = 0;
    for (int64_t line = 0;;) {
        const cse_update_part part = cse_arena_update_part(cluster, graph, chunk, line);
        if (part.group < 0)
            return digest;
        const cse_group *group = &graph->groups[part.group];
        for (int n = 0; n < group->node_count; n++)
            if (group->nodes[n]->op == &cse_op_assign)
                digest = mix(digest,
                             state_digest(cluster,
                                          &graph->states[group->nodes[n]->attributes.integers[0]],
                                          &part, group->elements));
        line += part.end - part.first;
    }
}

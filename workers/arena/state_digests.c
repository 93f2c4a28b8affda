/* Products in many lanes, so that none waits for the one before, and vectors hold several. */
#include "workers/arena/state_digests.h"

#include <assert.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"
#include "engine/base/vector_clones.h"

enum { LANES = CSE_RANGE_LANES, PART_LANES = 4, PARTS = LANES / PART_LANES };
#define FACTOR UINT64_C(0x9e3779b97f4a7c15)

/* Lanes that stay in a register: kept in an array, each round would wait for the stores of the one
 * before. */
typedef uint64_t lane_vector __attribute__((vector_size(PART_LANES * sizeof(uint64_t))));

CSE_VECTOR_INLINE uint64_t mix(uint64_t digest, uint64_t word)
{
    digest = (digest ^ word) * FACTOR;
    return digest ^ digest >> 29;
}

/* Whole rounds of all lanes; returns how many bytes they take. */
CSE_VECTOR_CLONES(size_t, mix_rounds, (uint64_t * lanes, const unsigned char *bytes, size_t size),
                  (lanes, bytes, size))
{
    lane_vector mixed[PARTS], words;
    size_t at = 0;
    memcpy(mixed, lanes, sizeof mixed);
    for (; size - at >= sizeof mixed; at += sizeof mixed) {
#pragma GCC unroll 8
        for (int i = 0; i < PARTS; i++) {
            memcpy(&words, bytes + at + (size_t)i * sizeof words, sizeof words);
            mixed[i] = (mixed[i] ^ words) * FACTOR;
            mixed[i] ^= mixed[i] >> 29;
        }
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

void cse_range_begin(cse_range_parts *parts)
{
    *parts = (cse_range_parts){ .size = 0 };
    begin_lanes(parts->lanes);
}

void cse_range_add(cse_range_parts *parts, const unsigned char *bytes, size_t size)
{
    const size_t at = mix_rounds(parts->lanes, bytes, size);
    assert(parts->size % CSE_RANGE_PART_BYTES == 0);
    memcpy(parts->rest, bytes + at, size - at);
    parts->size += size;
}

uint64_t cse_range_end(const cse_range_parts *parts)
{
    return join_lanes(parts->lanes, parts->rest, parts->size);
}

uint64_t cse_range_digest(const unsigned char *bytes, size_t size)
{
    cse_range_parts parts;
    cse_range_begin(&parts);
    cse_range_add(&parts, bytes, size);
    return cse_range_end(&parts);
}

uint64_t cse_zeros_digest(size_t size)
{
    uint64_t lanes[LANES];
    const uint64_t words[LANES] = { 0 };
    begin_lanes(lanes);
    mix_zeros(lanes, size / sizeof words);
    return join_lanes(lanes, words, size);
}

/* Of what lies of the assigned state in the part's lines. */
static uint64_t state_digest(const cse_cluster *cluster, const cse_graph *graph,
                             const cse_update_part *part, const cse_node *assign)
{
    const cse_state_entry *state = &graph->states[assign->attributes.integers[0]];
    int64_t bytes[2];
    cse_group_line_bytes(&graph->groups[part->group], assign,
                         (const int64_t[]){ part->first, part->end }, bytes);
    return cse_range_digest(cse_arena_states(cluster) + state->offset_bytes + bytes[0],
                            (size_t)(bytes[1] - bytes[0]));
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
                digest = mix(digest, state_digest(cluster, graph, &part, group->nodes[n]));
        line += part.end - part.first;
    }
}

void cse_step_states_digest(const uint64_t *chunks, int64_t count,
                            unsigned char digest[CSE_STEP_STATES_BYTES])
{
    crypto_generichash(digest, CSE_STEP_STATES_BYTES, (const unsigned char *)chunks,
                       (size_t)count * sizeof *chunks, NULL, 0);
}

cse_status cse_states_check(const cse_cluster *cluster, const cse_graph *graph, int64_t steps,
                            const char *wanted)
{
    unsigned char digest[CSE_STEP_STATES_BYTES];
    char digits[2 * CSE_STEP_STATES_BYTES + 1], given[2 * CSE_STEP_STATES_BYTES + 1] = "", rest;
    int64_t step = -1;
    if (sscanf(wanted, "%" SCNd64 " %32[0-9a-f]%c", &step, given, &rest) != 2 ||
        strlen(given) != sizeof given - 1)
        return cse_fail(CSE_CONFIG,
                        "checkpoint.begins_with: \"%.60s\": accepted is a step and the digest of "
                        "its states in 32 hexadecimal digits: \"137 0123...\"",
                        wanted);
    if (step != steps)
        return CSE_OK;
    const int count = cluster->head->update_chunks;
    uint64_t *chunks = cse_calloc((size_t)count + 1, sizeof *chunks);
    for (int chunk = 0; chunk < count; chunk++)
        chunks[chunk] = cse_chunk_digest(cluster, graph, chunk);
    cse_step_states_digest(chunks, count, digest);
    free(chunks);
    sodium_bin2hex(digits, sizeof digits, digest, sizeof digest);
    return strcmp(digits, given) == 0
               ? CSE_OK
               : cse_fail(CSE_DATA,
                          "the states after step %" PRId64 " have the digest %s, and not %s "
                          "(checkpoint.begins_with): the checkpoint is not that of the run",
                          steps, digits, given);
}

/* Four FNV-1a over words of 8 bytes, in turn, so that no product waits for the one before. */
#include "workers/arena/states_digest.h"

#include <string.h>

enum { LANES = 4 };

void cse_states_part(int64_t state_bytes, int64_t step, int64_t range[2])
{
    int64_t bytes = (state_bytes + CSE_STATES_PARTS - 1) / CSE_STATES_PARTS;
    bytes = (bytes + 63) / 64 * 64;
    bytes = bytes > CSE_STATES_PART_BYTES ? bytes : CSE_STATES_PART_BYTES;
    const int64_t parts = (state_bytes + bytes - 1) / bytes;
    range[0] = parts > 0 ? step % parts * bytes : 0;
    range[1] = range[0] + bytes < state_bytes ? range[0] + bytes : state_bytes;
}

static uint64_t mix(uint64_t digest, uint64_t word)
{
    digest = (digest ^ word) * UINT64_C(0x100000001b3);
    return digest ^ digest >> 32;
}

uint64_t cse_states_digest(const unsigned char *bytes, size_t size)
{
    uint64_t lanes[LANES] = { 1, 2, 3, 4 }, word;
    size_t at = 0;
    for (; size - at >= LANES * sizeof word; at += LANES * sizeof word)
        for (int i = 0; i < LANES; i++) {
            memcpy(&word, bytes + at + (size_t)i * sizeof word, sizeof word);
            lanes[i] = mix(lanes[i], word);
        }
    for (; at < size; at += size - at < sizeof word ? size - at : sizeof word) {
        word = 0;
        memcpy(&word, bytes + at, size - at < sizeof word ? size - at : sizeof word);
        lanes[0] = mix(lanes[0], word);
    }
    return mix(mix(mix(lanes[0], lanes[1]), lanes[2]), lanes[3]);
}

/* A ring that turns early where the next frame would not lie in one piece, and begins at its front
 * again whenever it is empty, so that little traffic touches little memory. */
#include "workers/links/frame_ring.h"

#include <stdlib.h>

#include "engine/base/arena.h"

unsigned char *cse_frame_ring_room(cse_frame_ring *ring, size_t size)
{
    if (ring->bytes == NULL)
        ring->bytes = cse_malloc(CSE_FRAME_RING_BYTES);
    if (ring->turn != 0)
        return ring->begin - ring->end > size ? ring->bytes + ring->end : NULL;
    if (CSE_FRAME_RING_BYTES - ring->end >= size)
        return ring->bytes + ring->end;
    return ring->begin > size ? ring->bytes : NULL;
}

void cse_frame_ring_add(cse_frame_ring *ring, unsigned char *place, size_t size)
{
    if (place == ring->bytes && ring->end != 0) {
        ring->turn = ring->end;
        ring->end = 0;
    }
    ring->end += size;
    ring->queued_bytes += size;
}

const unsigned char *cse_frame_ring_oldest(const cse_frame_ring *ring, size_t *size)
{
    *size = (ring->turn != 0 ? ring->turn : ring->end) - ring->begin;
    return ring->bytes + ring->begin;
}

void cse_frame_ring_remove(cse_frame_ring *ring, size_t size)
{
    ring->begin += size;
    ring->queued_bytes -= size;
    if (ring->queued_bytes == 0)
        ring->begin = ring->end = ring->turn = 0;
    else if (ring->begin == ring->turn)
        ring->begin = ring->turn = 0;
}

void cse_frame_ring_clear(cse_frame_ring *ring)
{
    free(ring->bytes);
    *ring = (cse_frame_ring){ 0 };
}

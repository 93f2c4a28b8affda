/* The queue of frames to one host: a bounded ring in which each frame lies in one piece, so that it
 * is sealed where it stands. */
#ifndef CSE_WORKERS_LINKS_FRAME_RING_H
#define CSE_WORKERS_LINKS_FRAME_RING_H

#include <stddef.h>

enum { CSE_FRAME_RING_BYTES = 8 << 20 };

/* The bytes [begin, end), or [begin, turn) and then [0, end). */
typedef struct cse_frame_ring {
    unsigned char *bytes; /* NULL: none was ever added */
    size_t begin, end, turn;
    size_t queued_bytes;
} cse_frame_ring;

/* A place of `size` bytes; NULL: there is none until others are sent. Any size up to half of the
 * ring finds one in an empty ring. */
unsigned char *cse_frame_ring_room(cse_frame_ring *ring, size_t size);
/* The place that was got last is full. */
void cse_frame_ring_add(cse_frame_ring *ring, unsigned char *place, size_t size);
/* The oldest bytes, as many as lie in one piece. */
const unsigned char *cse_frame_ring_oldest(const cse_frame_ring *ring, size_t *size);
void cse_frame_ring_remove(cse_frame_ring *ring, size_t size);
void cse_frame_ring_clear(cse_frame_ring *ring);

#endif

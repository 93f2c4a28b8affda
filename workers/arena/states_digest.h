/* A digest of a part of the states, another part each step, by which hosts compare what each of
 * them has: sums and what is fetched of a step are the same on all of them even where one has wrong
 * weights, since all join the same sums.
 *
 * All parts have had their turn after at most CSE_STATES_PARTS steps. A part is a small share of
 * what an update reads, so it is done in one piece, by who computes the record. */
#ifndef CSE_WORKERS_ARENA_STATES_DIGEST_H
#define CSE_WORKERS_ARENA_STATES_DIGEST_H

#include <stddef.h>
#include <stdint.h>

enum { CSE_STATES_PARTS = 64, CSE_STATES_PART_BYTES = 64 << 10 /* at least */ };

/* The bytes [range[0], range[1]) of the states that this step's record covers. */
void cse_states_part(int64_t state_bytes, int64_t step, int64_t range[2]);

/* No bit of the bytes can differ alone without another digest. */
uint64_t cse_states_digest(const unsigned char *bytes, size_t size);

#endif

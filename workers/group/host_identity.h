/* What this program and machine are, as far as the bits of a step depend on them. */
#ifndef CSE_WORKERS_GROUP_HOST_IDENTITY_H
#define CSE_WORKERS_GROUP_HOST_IDENTITY_H

#include "engine/base/arena.h"
#include "workers/group/members.h"

/* Texts in `arena`. The self-test computes the functions that a step may call from the C library,
 * over their ranges, and small matrix products, and takes the choices of kernels that the
 * environment asks for. */
void cse_host_identity_new(cse_arena *arena, bool portable, cse_host_identity *identity);

#endif

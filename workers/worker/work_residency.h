/* What a worker has in memory of an arena in a file: before each unit of work, the bytes that the
 * unit uses come, and those that follow are read ahead. Nothing is done for an arena in memory.
 *
 * A disk that fails ends the process at once, with its failure in the arena: the unit's claim is
 * freed as that of a killed process, and the coordinator ends the run with that message. */
#ifndef CSE_WORKERS_WORKER_WORK_RESIDENCY_H
#define CSE_WORKERS_WORKER_WORK_RESIDENCY_H

#include "workers/arena/block_io.h"
#include "workers/worker/work_state.h"

struct cse_work_residency;

/* `modelled`: NULL, or what counts in place of the disk; borrowed. */
cse_status cse_work_residency_new(cse_work *work, cse_block_io *modelled);
void cse_work_residency_destroy(cse_work *work);
/* No work follows: all that this process has in memory is written, and leaves. */
void cse_work_residency_end(cse_work *work);

/* Before elements [range[0], range[1]) of partial sums are added: `into` is changed by `from`.
 * `packed`: `from` is a partial sum, no gradient as the program leaves it. */
void cse_work_residency_add(cse_work *work, const int64_t range[2], const unsigned char *into,
                            const unsigned char *from, bool packed);
/* Before elements of the step's partial sums are joined; `into`: a place in the arena, or NULL. */
void cse_work_residency_join(cse_work *work, const int64_t range[2], const unsigned char *into);
/* Before lines of an UPDATE group in the step `step`, whose sums are joined. */
void cse_work_residency_update(cse_work *work, uint64_t step, int chunk, cse_update_part part);

#endif

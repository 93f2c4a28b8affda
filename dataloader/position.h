/* Maps a place in the run (step, microbatch) to its samples.
 *
 * Steps count batches over all epochs; an epoch has floor(samples / batch_size) of them, and one
 * more, of the samples that are left, unless drop_last leaves those out.
 * The order of samples depends only on batch_size and the seed: micro_batch_size divides the same
 * order differently, and it does not matter which process reads a microbatch. Skipped samples move
 * all steps by as many places of that order.
 *
 * With a sampler each place of the stream of all epochs draws a sample by itself. A sample that
 * comes twice in an epoch is another time of it: its epoch, which what chance decides about a
 * sample goes by, is the place.
 *
 * Samples that are left out (`without`) keep their places, which batches pass over.
 *
 * What an input function orders itself (is_stream) has places of the stream of all epochs as its
 * numbers: nothing is left out at the end of an epoch, where the next one goes on. */
#ifndef CSE_DATALOADER_POSITION_H
#define CSE_DATALOADER_POSITION_H

#include "dataloader/input.h"

typedef struct cse_position {
    int64_t epoch;       /* counted from 0 */
    int64_t first_index; /* place in the epoch of the microbatch's first sample */
} cse_position;

/* Has `batching` read batches of a kind. Microbatches have as many samples as divide a smaller
 * batch, at most `micro_batch_size`, that of whole ones. */
void cse_position_choose_kind(cse_batching *batching, int64_t micro_batch_size,
                              cse_batch_kind kind);

/* A step by its place in an epoch, both counted from 0. */
typedef struct cse_epoch_step {
    int64_t epoch, step;
} cse_epoch_step;

/* Batches in an epoch of `sample_count` samples. */
int64_t cse_position_steps_per_epoch(const cse_batching *batching, int64_t sample_count);

/* Of step `step` (>= 0). The epoch must hold at least one batch. */
cse_epoch_step cse_position_epoch_step(const cse_batching *batching, int64_t sample_count,
                                       int64_t step);

/* Samples of the batch of step `step`: batch_size, fewer where it is an epoch's last one, less
 * those that are left out. */
int64_t cse_position_batch_samples(const cse_batching *batching, int64_t sample_count,
                                   int64_t step);
/* The kind of that batch. */
cse_batch_kind cse_position_kind(const cse_batching *batching, int64_t sample_count, int64_t step);

/* Place of microbatch `m` (0 <= m < cse_batching_microbatches) of step `step` (>= 0), of the kind
 * that the batching reads. The epoch must hold at least one batch. */
cse_position cse_position_of(const cse_batching *batching, int64_t sample_count, int64_t step,
                             int64_t m);

/* Writes the indices of the microbatch's samples, micro_batch_size of them, to `samples`, and the
 * epoch of each to `epochs`, which may be NULL. */
void cse_position_samples(const cse_batching *batching, int64_t sample_count, cse_position position,
                          int64_t samples[], int64_t epochs[]);

#endif

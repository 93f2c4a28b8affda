/* The setting `without` of a data loader: samples that no batch has, by their numbers in the data.
 *
 * The order of all samples stays as it is, places of these included: a batch that has one of their
 * places is smaller by it, and all other batches are what they are without the setting. So steps
 * before the first use of such a sample are the same steps, and each later batch differs by these
 * samples alone. */
#ifndef CSE_DATALOADER_POSITIONS_LEFT_OUT_H
#define CSE_DATALOADER_POSITIONS_LEFT_OUT_H

#include "csengine/extend.h"

typedef struct cse_left_out {
    int64_t count;
    int64_t *samples; /* [count], ascending */
} cse_left_out;

/* Checks the setting, without the data: CSE_CONFIG for a number that comes twice, and for settings
 * beside it by which such a sample could enter a batch in another way. */
cse_status cse_left_out_check(const cse_settings *settings);
/* Checks it against the data: CSE_CONFIG for numbers that they do not have, where none of their
 * samples is left, and where their numbers are places of a stream. */
cse_status cse_left_out_check_samples(const cse_settings *settings, int64_t sample_count,
                                      bool is_stream);

/* Of checked settings. */
void cse_left_out_read(const cse_settings *settings, cse_left_out *left_out);
/* Of any numbers, which are copied. */
void cse_left_out_of(const int64_t *samples, int64_t count, cse_left_out *left_out);
void cse_left_out_clear(cse_left_out *left_out);

bool cse_left_out_has(const cse_left_out *left_out, int64_t sample);

#endif

/* Downsamples the tensor statistics of a long run: keeps every second, fourth, ... step with all
 * its records, so that their number is bounded, and always the first and the last step. Records are
 * added in step order, which bounds the memory. */
#ifndef CSE_CLI_RUNS_DOWNSAMPLE_H
#define CSE_CLI_RUNS_DOWNSAMPLE_H

#include <jansson.h>
#include <stdint.h>

/* Start from `most` and zeroes. */
typedef struct cse_downsampler {
    int most; /* records to keep, not counting the last step's */
    json_t **records;
    int64_t *ordinals; /* of each record's step among all steps */
    int count, capacity, ordinals_capacity;
    int64_t stride; /* keeps steps whose ordinal is a multiple of it; 0: no record yet */
    int64_t ordinal, attempt, step; /* of the newest record */
    json_t *last;                   /* records of that step */
} cse_downsampler;

/* Records with "attempt" and "step"; the array stays the caller's. */
void cse_downsampler_add(cse_downsampler *downsampled, const json_t *records);
/* What was kept, as an array; releases the rest. */
json_t *cse_downsampler_end(cse_downsampler *downsampled);

#endif

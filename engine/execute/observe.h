/* Counting a tensor's numbers: what an observed step keeps of each observation of its graph.
 *
 * All of it is integers that are added (or of which the least is taken), so that records of
 * microbatches join in any order to the same bits: whoever computed which microbatch, and however
 * often a killed one was computed again before its record was published.
 *
 * A float32 value that is zero for the processor (a subnormal number, which computes as zero here)
 * counts as zero. */
#ifndef CSE_EXECUTE_OBSERVE_H
#define CSE_EXECUTE_OBSERVE_H

#include "engine/execute/execute.h"

enum { CSE_EXPONENT_BINS = 256, CSE_EXPONENT_BIAS = 127, CSE_OBSERVED_BLOCK = 256 };

typedef struct cse_observed {
    uint64_t count;         /* elements */
    uint64_t nan, infinite; /* of the rounded values */
    uint64_t saturated;     /* finite values that rounding made infinite */
    uint64_t flushed;       /* values that rounding made zero */
    uint64_t zeros;         /* zero before rounding */
    uint64_t absorbed;      /* weights that an update other than zero left as they were */
    /* Sum over the elements of a hash of index and bits; of the rounded values, of a state before
     * its update. NaNs are all alike. */
    uint64_t digest;
    uint64_t digest_after;    /* of a state after its update */
    int64_t first_microbatch; /* 1 + the first one with a NaN or an infinity; 0: none */
    /* Values before rounding by their biased exponent: bin 0 zero, bin 255 infinite and NaN. */
    uint64_t exponents[CSE_EXPONENT_BINS];
} cse_observed;

/* A run of elements. */
typedef struct cse_observed_values {
    const void *values;
    cse_dtype stored;  /* type of what lies there */
    cse_dtype rounded; /* type it is rounded to; `stored` when it is not */
    int64_t count;
    /* For the digest: the first element's place in the tensor, a multiple of CSE_OBSERVED_BLOCK;
     * and the microbatch. */
    int64_t first_index, microbatch;
} cse_observed_values;

/* Adds the elements to the record. */
void cse_observe(cse_observed *record, const cse_observed_values *values);
/* Whether any of `count` float32 values is infinite or NaN. */
bool cse_observe_finds_nonfinite(const float *values, int64_t count);
/* What the record's digest grows by. */
uint64_t cse_observe_digest(const float *values, int64_t count, int64_t first_index);
/* How many of `count` elements were kept although their delta is not zero. */
uint64_t cse_observe_absorbed(const float *before, const float *kept, const float *delta,
                              int64_t count);
/* to[i] += from[i] for `count` records. */
void cse_observed_add(cse_observed *to, const cse_observed *from, int count);
/* The largest exponent of a finite value: x = m * 2^e, 1 <= m < 2; INT32_MIN when all are zero. */
int32_t cse_observed_max_exponent(const cse_observed *record);

/* What a frame carries on an observed step; programs hand it the values as they come. */
struct cse_tally {
    void (*take)(cse_tally *self, const cse_frame *frame, int observation, const void *values);
    unsigned char *scratch; /* graph->observe_scratch_bytes */
    const cse_graph *graph;
    cse_observed *records; /* one for each observation */
};

/* A tally of `graph` into `records`; both are borrowed, and so is the scratch memory. */
void cse_tally_init(cse_tally *tally, const cse_graph *graph, cse_observed *records,
                    unsigned char *scratch);

#endif

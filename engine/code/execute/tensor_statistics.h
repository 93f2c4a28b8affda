/* Statistics of tensors: what is counted of each tracked tensor of a graph (graph->tracked) on the
 * steps that take statistics.
 *
 * A record holds a histogram of exponents, counts of NaNs, infinities and of what rounding changed,
 * and a digest of the values. All fields are integers that merge by addition or minimum, so the
 * records of microbatches give the same bits in any order, whichever worker computed a microbatch
 * and however often it was recomputed before its record was published.
 *
 * A subnormal float32 value counts as zero, because the processor computes with it as zero. */
#ifndef CSE_EXECUTE_TENSOR_STATISTICS_H
#define CSE_EXECUTE_TENSOR_STATISTICS_H

#include "engine/code/execute/execute.h"
#include "engine/code/execute/exponent_histogram.h"
#include "engine/code/execute/square_sum.h"

typedef struct cse_tensor_statistics {
    uint64_t count;         /* elements */
    uint64_t nan, infinite; /* of the rounded values */
    uint64_t saturated;     /* finite values that rounding made infinite */
    uint64_t flushed;       /* values that rounding made zero */
    uint64_t zeros;         /* zero before rounding */
    uint64_t absorbed;      /* weights that a nonzero update left unchanged */
    /* Sum over the elements of a hash of index and bits: of the rounded values, of a state before
     * its update. All NaNs hash alike. */
    uint64_t digest;
    uint64_t digest_after;    /* of a state after its update */
    int64_t first_microbatch; /* 1 + the first one with a NaN or an infinity; 0: none */
    /* Values before rounding by their biased exponent; see exponent_histogram.h. */
    uint64_t exponents[CSE_EXPONENT_BINS];
    cse_square_sum weight, update; /* of a weight: before its update, and what that added */
} cse_tensor_statistics;

/* Consecutive elements of a tensor. */
typedef struct cse_tensor_values {
    const void *values;
    cse_dtype stored;  /* type of what lies there */
    cse_dtype rounded; /* type it is rounded to; `stored` when it is not */
    int64_t count;
    /* For the digest: the microbatch, and the first element's place in the tensor, a multiple of
     * CSE_DIGEST_BLOCK where a tensor is counted in several runs. */
    int64_t first_index, microbatch;
} cse_tensor_values;

/* Adds the elements to the record. */
void cse_tensor_statistics_count(cse_tensor_statistics *record, const cse_tensor_values *values);
/* Whether any of `count` float32 values is infinite or NaN. */
bool cse_has_nonfinite(const float *values, int64_t count);
/* The amount to add to the record's digest. */
uint64_t cse_tensor_digest(const float *values, int64_t count, int64_t first_index);
/* How many of `count` elements stayed unchanged although their delta is not zero. */
uint64_t cse_count_absorbed(const float *before, const float *kept, const float *delta,
                            int64_t count);
/* The squares of a weight, and of the difference that its update made. */
void cse_count_update(cse_tensor_statistics *record, const float *before, const float *after,
                      int64_t count);
/* The norm of the update over that of the weight; NaN where one of them is not finite, or the
 * weight is zero. */
double cse_update_ratio(const cse_tensor_statistics *record);
/* to[i] += from[i] for `count` records. */
void cse_tensor_statistics_add(cse_tensor_statistics *to, const cse_tensor_statistics *from,
                               int count);
/* The largest exponent of a finite value: x = m * 2^e, 1 <= m < 2; INT32_MIN when all are zero. */
int32_t cse_tensor_statistics_max_exponent(const cse_tensor_statistics *record);

/* Counts tensors while a program runs: a frame carries it on a step that takes statistics, and the
 * program calls it with the values of each tracked tensor as they are computed. */
struct cse_statistics_collector {
    void (*count)(cse_statistics_collector *self, const cse_frame *frame, int tracked,
                  const void *values);
    unsigned char *scratch; /* graph->statistics_scratch_bytes */
    const cse_graph *graph;
    cse_tensor_statistics *records; /* one for each tracked tensor */
    /* Takes the values of tensors that are kept whole; NULL: they are not. Borrowed. */
    struct cse_value_log *values;
};

/* Initializes a collector that counts the tracked tensors of `graph` into `records`; both are
 * borrowed, and so is the scratch memory. */
void cse_statistics_collector_init(cse_statistics_collector *collector, const cse_graph *graph,
                                   cse_tensor_statistics *records, unsigned char *scratch);

#endif

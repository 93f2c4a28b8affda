/* Two checkpoints, tensor by tensor: what differs, and by how much.
 *
 * The seal at the end of each file gives every tensor's position and digest, so equal tensors are
 * recognised without being read; the others are read in blocks from both files at once, so memory
 * is bounded whatever their size. What is read is verified against its digest. */
#ifndef CSE_CHECKPOINT_COMPARE_H
#define CSE_CHECKPOINT_COMPARE_H

#include "csengine/tensor.h"

typedef enum cse_difference_kind {
    CSE_DIFFERENT_VALUES,
    CSE_DIFFERENT_FORM, /* type or shape: elements are not compared */
    CSE_ONLY_IN_FIRST,
    CSE_ONLY_IN_SECOND,
} cse_difference_kind;

/* A tensor that differs. The texts are valid only during the call of `take`. */
typedef struct cse_tensor_difference {
    const char *name;
    cse_difference_kind kind;
    /* In the first and in the second checkpoint; NULL where the tensor is absent. Shapes as "[128,
     * 784]". */
    const char *dtypes[2], *shapes[2];
    /* For CSE_DIFFERENT_VALUES. `differing` elements have other bits; for `non_finite` ones at
     * least one of the two values is a NaN or an infinity. The maxima are over the others: of |a -
     * b|, and of |a - b| / max(|a|, |b|). */
    int64_t elements, differing, non_finite;
    double max_absolute, max_relative;
} cse_tensor_difference;

typedef struct cse_comparison {
    const char *first, *second; /* paths */
    int64_t skip, limit; /* a page of the tensors that differ, in the byte order of their names */
    int64_t most_bytes;  /* no further tensor is begun after reading so much; 0: no limit */
} cse_comparison;

typedef struct cse_comparison_result {
    int64_t tensors, same, differing; /* names in either, whatever the page */
    int64_t taken;                    /* passed to `take` */
} cse_comparison_result;

/* Calls `take` with each tensor of the page. CSE_NO_INPUT, CSE_PERMISSION, CSE_IO; CSE_DATA when a
 * file is no checkpoint or a tensor that is compared is damaged, naming it. */
cse_status cse_checkpoint_compare(const cse_comparison *wanted, cse_comparison_result *result,
                                  void (*take)(void *self, const cse_tensor_difference *difference),
                                  void *self);

#endif

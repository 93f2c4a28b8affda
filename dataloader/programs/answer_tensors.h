/* The tensors of an answer: safetensors (a length of 8 bytes, a JSON header, the values) in memory,
 * of which nothing is believed before it is checked. */
#ifndef CSE_DATALOADER_PROGRAMS_ANSWER_TENSORS_H
#define CSE_DATALOADER_PROGRAMS_ANSWER_TENSORS_H

#include <stddef.h>
#include <stdint.h>

#include "csengine/input.h"

typedef struct cse_answer_tensor {
    char *name;
    cse_dtype dtype; /* int32 and float32; int64 becomes int32 */
    bool is_wide;    /* int64 */
    cse_shape shape;
    const unsigned char *values; /* in the answer */
} cse_answer_tensor;

/* Start from a zeroed struct. */
typedef struct cse_answer_tensors {
    cse_answer_tensor tensors[CSE_MAX_STREAMS];
    int count;
    int64_t sample_count; /* of member sample_count of the metadata; 0: it is not there */
} cse_answer_tensors;

/* `bytes` must outlive the result. CSE_DATA. */
cse_status cse_answer_tensors_read(const unsigned char *bytes, size_t size,
                                   cse_answer_tensors *answer);
void cse_answer_tensors_clear(cse_answer_tensors *answer);
/* Copies all values; CSE_DATA for an int64 that is no int32. */
cse_status cse_answer_tensor_copy(const cse_answer_tensor *tensor, void *values);

#endif

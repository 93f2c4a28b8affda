/* What lies where in the memory of shared_checkpoint.h. Both sides are one program: it is no format
 * of files, and a mark that differs ends the writer. */
#ifndef CSE_CHECKPOINT_SHARED_LAYOUT_H
#define CSE_CHECKPOINT_SHARED_LAYOUT_H

#include <assert.h>
#include <limits.h>

#include "engine/formats/checkpoint/tensors.h"

#define CSE_SHARED_MARK "csesave\3"

enum { CSE_SHARED_NO_TEXT = -1 };

/* Texts are places in the region of texts, where they end with a zero byte; -1: there is none. */
typedef struct cse_shared_tensor {
    int64_t name;
    uint64_t offset;
    int32_t dtype;
    cse_shape shape;
} cse_shared_tensor;

typedef struct cse_shared_head {
    char mark[8];
    uint64_t bytes; /* of all */
    char path[PATH_MAX];
    int64_t global_step, samples_seen;
    uint64_t seed;
    int32_t tensor_count;
    uint64_t table, texts, texts_bytes;
    int64_t model_name, config, kernels, links, values, data, origin, chain;
} cse_shared_head;

/* What came of the writing. */
typedef struct cse_shared_outcome {
    cse_status status;
    char digest[65];    /* of all tensors, where status is CSE_OK */
    char message[4096]; /* else */
} cse_shared_outcome;

typedef struct cse_shared_ending {
    int32_t stands;
    cse_shared_outcome outcome;
} cse_shared_ending;

enum { CSE_SHARED_ENDING_AT = 8192, CSE_SHARED_HEAD_BYTES = 16384 };

static_assert(sizeof(cse_shared_head) <= CSE_SHARED_ENDING_AT, "the head has room");
static_assert(CSE_SHARED_ENDING_AT + sizeof(cse_shared_ending) <= CSE_SHARED_HEAD_BYTES,
              "the outcome has room");

#endif

/* What a checkpoint holds: named tensors and a few facts about the run. */
#ifndef CSE_CHECKPOINT_TENSORS_H
#define CSE_CHECKPOINT_TENSORS_H

#include "csengine/tensor.h"

/* One tensor to write, or that was read. */
typedef struct cse_checkpoint_tensor {
    const char *name; /* "model.fc_layers.0.weight", "optimizer.fc_layers.0.weight.exp_avg" */
    cse_dtype dtype;
    cse_shape shape;
    const void *data; /* contiguous, row-major; borrowed when writing */
    /* The data are a mapping of a file that is larger than memory: pages that were read leave. */
    bool in_file;
} cse_checkpoint_tensor;

typedef struct cse_checkpoint {
    cse_checkpoint_tensor *tensors;
    int tensor_count;
    int64_t global_step;
    uint64_t seed;
    int64_t samples_seen; /* position in the data: global_step * batch_size */
    const char *model_name;
    const char *config; /* canonical YAML of the run; may be NULL */
    /* The instruction set and kernels of the last training step (kernel_record.h); may be NULL. */
    const char *kernels;
    const char *links;  /* what it came from (links.h); may be NULL */
    const char *values; /* a program's own (run/saving/tree.c): JSON; may be NULL */
    const char *origin; /* what the program that its weights came from said of them
                           (engine/formats/weights/weights.h): JSON; may be NULL */
    const char *chain;  /* of the digests of its steps (run/session/step_chain.h); may be NULL */
    const char *data;   /* the data files that were read (data_identity.h); may be NULL */
} cse_checkpoint;

#endif

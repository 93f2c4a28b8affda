/* The contract of a checkpoint format: a file in engine/formats/checkpoint/formats that ends with
 * its descriptor, `cse_format_<file name>`.
 *
 * A format turns a checkpoint into the bytes of one open file and back. It knows nothing of names,
 * renaming or fsync: checkpoint.c opens the temporary file, hands over the descriptor and makes the
 * result durable, so that every format is atomic in the same way. */
#ifndef CSE_CHECKPOINT_FORMAT_H
#define CSE_CHECKPOINT_FORMAT_H

#include "engine/formats/checkpoint/tensors.h"

/* The file that a checkpoint is written to. */
typedef struct cse_format_target {
    int descriptor;   /* open for reading and writing */
    const char *path; /* for messages only */
    char *digest;     /* gets the digits of cse_checkpoint_digest over all tensors; may be NULL */
} cse_format_target;

typedef struct cse_checkpoint_format {
    const char *name;
    const char *summary;
    const char *extension; /* of the final name, with the dot */
    /* The first bytes of a file in this format. */
    const char *signature;
    size_t signature_bytes;

    /* Writes to an empty file. */
    cse_status (*write)(const cse_checkpoint *checkpoint, const cse_format_target *to);

    /* Reads what was written and compares it with the checkpoint: CSE_DATA, CSE_IO. */
    cse_status (*confirm)(const cse_checkpoint *checkpoint, const cse_format_target *to);

    /* Verifies that the file is complete: reads everything and compares it with its digests, one
     * tensor in memory at a time. CSE_DATA, with the damaged tensor's name if it can be told. */
    cse_status (*verify)(int descriptor, const char *path);

    /* The same check, returning the checkpoint. The caller owns the result. */
    cse_status (*read)(int descriptor, const char *path, cse_checkpoint **checkpoint);

    /* The same with the elements left in the file, which is mapped (in_file). */
    cse_status (*map)(int descriptor, const char *path, cse_checkpoint **checkpoint);
} cse_checkpoint_format;

extern const cse_checkpoint_format *const cse_checkpoint_formats[];

/* Writes to an empty file that is open, in the format of the path's extension. */
cse_status cse_checkpoint_fill(const cse_checkpoint *checkpoint, const cse_format_target *to);

/* A checkpoint that cse_checkpoint_destroy frees: a format's `read` fills it from `arena`. */
typedef struct cse_checkpoint_owned {
    cse_checkpoint checkpoint; /* first: a pointer to it is a pointer to the whole */
    struct cse_arena *arena;
    void *mapped; /* of the file; NULL: the elements are in the arena */
    size_t mapped_bytes;
} cse_checkpoint_owned;

cse_checkpoint_owned *cse_checkpoint_owned_new(void);

#endif

/* The directory of a compiled step as a whole that is vouched for, file by file.
 *
 * The file `manifest`, written last, names every other file with its size and its BLAKE2b-256
 * digest, and the key that the step is for; its last line is the digest of the lines before it:
 *
 *     csengine artefact 1
 *     key KEY
 *     file step.plan BYTES DIGEST
 *     file kernels.txt BYTES DIGEST
 *     file step.c BYTES DIGEST
 *     file step.so BYTES DIGEST           absent where the machine has no compiler
 *     manifest DIGEST
 *
 * Reading gives the bytes that were compared with it, and nothing is ever used but those: what
 * happens to a file afterwards cannot reach a process that has read it. */
#ifndef CSE_CODEGEN_ARTEFACT_H
#define CSE_CODEGEN_ARTEFACT_H

#include "csengine/status.h"
#include "engine/base/text.h"

enum { CSE_ARTEFACT_DIGITS = 64 };

typedef enum cse_artefact_file {
    CSE_ARTEFACT_PLAN,    /* step.plan */
    CSE_ARTEFACT_KERNELS, /* kernels.txt */
    CSE_ARTEFACT_SOURCE,  /* step.c */
    CSE_ARTEFACT_OBJECT,  /* step.so */
    CSE_ARTEFACT_FILES,
} cse_artefact_file;

extern const char *const cse_artefact_names[CSE_ARTEFACT_FILES];

typedef struct cse_artefact {
    char digest[CSE_ARTEFACT_DIGITS + 1]; /* of the manifest's lines, which its last one gives */
    bool compiled;                        /* there is a step.so */
    cse_text files[CSE_ARTEFACT_FILES];   /* their bytes */
} cse_artefact;

/* Reads a directory. It and its files must belong to this user or to root, must not be writable by
 * others, and no name may be a symbolic link. `digest`: the one that is expected; NULL: any. The
 * caller clears `artefact`, which is empty after a failure. CSE_NO_INPUT when there is no such
 * directory; CSE_DATA, naming the file, for all that does not match. */
cse_status cse_artefact_read(const char *directory, const char *digest, cse_artefact *artefact);
void cse_artefact_clear(cse_artefact *artefact);

/* Writes the manifest of a directory whose other files are complete, for `key`; makes every file
 * and the directory durable, and readable by all. */
cse_status cse_artefact_seal(const char *directory, const char *key);

/* A file in memory that holds step.so and that nothing can change any more, for dlopen; the caller
 * closes it. CSE_TEMPORARY when memory is short. */
cse_status cse_artefact_object_new(const cse_artefact *artefact, int *descriptor);

#endif

/* One data file: its facts as the system tells them, and the digest of its content. */
#ifndef CSE_DATALOADER_IDENTITY_DATA_FILE_H
#define CSE_DATALOADER_IDENTITY_DATA_FILE_H

#include <stdint.h>

#include "csengine/status.h"

enum { CSE_DATA_DIGEST_BYTES = 80, CSE_DATA_SAMPLES = 64, CSE_DATA_SAMPLE_BYTES = 1 << 20 };
#define CSE_DATA_WHOLE_BYTES (INT64_C(256) << 20)
/* Digests of files of this size or more are kept for the next start. */
#define CSE_DATA_KEPT_BYTES (INT64_C(16) << 20)

typedef struct cse_data_file {
    char *path;
    int64_t bytes, modified_ns, changed_ns;
    uint64_t device, inode;
    char digest[CSE_DATA_DIGEST_BYTES];
    bool training; /* it is read for training */
    bool opened;   /* by the last cse_data_open */
    bool is_code;  /* it is the library that holds the input function */
} cse_data_file;

/* Size, times and inode of an open file; the digest and the path stay empty. */
cse_status cse_data_file_examine(int descriptor, const char *path, cse_data_file *file);
/* Whether size, times and inode are the same. */
bool cse_data_file_same_facts(const cse_data_file *a, const cse_data_file *b);
/* Fills in the digest. Reads at positions of its own: the descriptor's does not move. */
cse_status cse_data_file_digest(int descriptor, const char *path, cse_data_file *file);

#endif

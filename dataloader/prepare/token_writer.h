/* Writes a stream of tokens as samples of a language model: HDF5 files in the layout of ModelZoo,
 * or .npy files of all tokens. The same tokens give the same bytes. */
#ifndef CSE_DATALOADER_PREPARE_TOKEN_WRITER_H
#define CSE_DATALOADER_PREPARE_TOKEN_WRITER_H

#include <stddef.h>
#include <stdint.h>

#include "csengine/status.h"

typedef struct cse_token_writer_options {
    const char *folder; /* exists */
    bool npy;           /* in place of HDF5 */
    int64_t time;       /* tokens of a sample */
    int64_t file_samples;
    int64_t vocab_size; /* npy: uint16 where it fits, else int32 */
    int32_t padding;    /* behind the last token, where the mask is 0 */
} cse_token_writer_options;

typedef struct cse_token_writer cse_token_writer;

/* The text options are borrowed. */
cse_token_writer *cse_token_writer_new(const cse_token_writer_options *options);
void cse_token_writer_close(cse_token_writer **writer);
cse_status cse_token_writer_add(cse_token_writer *writer, const int32_t *tokens, size_t count);
/* The last sample, padded, and the end of the last file. */
cse_status cse_token_writer_finish(cse_token_writer *writer);

typedef struct cse_token_writer_counts {
    int64_t tokens, samples, files;
} cse_token_writer_counts;
cse_token_writer_counts cse_token_writer_counts_of(const cse_token_writer *writer);

#endif

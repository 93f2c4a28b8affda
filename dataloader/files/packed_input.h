/* Compressed bytes of a file, a block at a time, and the decoders that read them: gzip and zstd.
 *
 * Each decoder vouches for what it hands out as far as its format can: every checksum and length
 * that the stream has is compared before the end of the content is reported, and behind the end
 * nothing may stand but what the format allows there. */
#ifndef CSE_DATALOADER_FILES_PACKED_INPUT_H
#define CSE_DATALOADER_FILES_PACKED_INPUT_H

#include <stddef.h>

#include "csengine/status.h"

typedef struct cse_packed_input {
    int descriptor;
    const char *path; /* for messages */
    unsigned char *bytes;
    size_t at, size; /* the bytes that were not taken yet */
} cse_packed_input;

void cse_packed_input_make(cse_packed_input *input, int descriptor, const char *path);
/* Closes the descriptor. */
void cse_packed_input_clear(cse_packed_input *input);
/* Reads a block where none is left; input->at == input->size afterwards: the file has ended. */
cse_status cse_packed_input_fill(cse_packed_input *input);

cse_status cse_packed_damaged(const cse_packed_input *input, const char *why);
cse_status cse_packed_cut_off(const cse_packed_input *input);

/* Reads up to `size` bytes; fewer only at the end of the content. */
typedef struct cse_gzip_decoder cse_gzip_decoder;
cse_gzip_decoder *cse_gzip_decoder_new(void);
void cse_gzip_decoder_destroy(cse_gzip_decoder **decoder);
cse_status cse_gzip_decoder_read(cse_gzip_decoder *decoder, cse_packed_input *input, void *bytes,
                                 size_t size, size_t *got);

typedef struct cse_zstd_decoder cse_zstd_decoder;
cse_zstd_decoder *cse_zstd_decoder_new(void);
void cse_zstd_decoder_destroy(cse_zstd_decoder **decoder);
cse_status cse_zstd_decoder_read(cse_zstd_decoder *decoder, cse_packed_input *input, void *bytes,
                                 size_t size, size_t *got);

#endif

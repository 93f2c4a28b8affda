/* One or more frames (RFC 8878). libzstd compares the checksum of each frame that has one, and its
 * length where the frame says it, and refuses what is no frame between them. */
#include <stdlib.h>
#include <zstd.h>

#include "dataloader/files/packed_input.h"
#include "engine/base/arena.h"

struct cse_zstd_decoder {
    ZSTD_DStream *stream;
    bool within_frame;
};

cse_zstd_decoder *cse_zstd_decoder_new(void)
{
    cse_zstd_decoder *decoder = cse_calloc(1, sizeof *decoder);
    decoder->stream = ZSTD_createDStream();
    return decoder;
}

void cse_zstd_decoder_destroy(cse_zstd_decoder **decoder)
{
    if (*decoder == NULL)
        return;
    ZSTD_freeDStream((*decoder)->stream);
    free(*decoder);
    *decoder = NULL;
}

cse_status cse_zstd_decoder_read(cse_zstd_decoder *decoder, cse_packed_input *input, void *bytes,
                                 size_t size, size_t *got)
{
    ZSTD_outBuffer output = { bytes, size, 0 };
    *got = 0;
    while (output.pos < size) {
        CSE_TRY(cse_packed_input_fill(input));
        const bool at_end = input->at == input->size;
        const size_t before = output.pos;
        if (at_end && !decoder->within_frame)
            break;
        ZSTD_inBuffer from = { input->bytes, input->size, input->at };
        const size_t left = ZSTD_decompressStream(decoder->stream, &output, &from);
        input->at = from.pos;
        if (ZSTD_isError(left))
            return cse_packed_damaged(input, ZSTD_getErrorName(left));
        decoder->within_frame = left != 0;
        if (at_end && left != 0 && output.pos == before)
            return cse_packed_cut_off(input);
    }
    *got = output.pos;
    return CSE_OK;
}

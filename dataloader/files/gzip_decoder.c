/* One or more members (RFC 1952), as gzip, pigz and bgzip write them. zlib compares the CRC-32 and
 * the length at the end of each. Behind a member another one may stand, or zeros that fill up a
 * block: anything else would be the rest of the content with a damaged header, which zlib's own gz
 * functions leave out without a word. */
#include <stdlib.h>
#include <zlib.h>

#include "dataloader/files/packed_input.h"
#include "engine/base/arena.h"

enum { GZIP_ONLY = 16 + MAX_WBITS };

struct cse_gzip_decoder {
    z_stream stream;
    bool within_member, had_member;
};

cse_gzip_decoder *cse_gzip_decoder_new(void)
{
    cse_gzip_decoder *decoder = cse_calloc(1, sizeof *decoder);
    if (inflateInit2(&decoder->stream, GZIP_ONLY) != Z_OK)
        abort(); /* out of memory, as cse_calloc treats it */
    return decoder;
}

void cse_gzip_decoder_destroy(cse_gzip_decoder **decoder)
{
    if (*decoder == NULL)
        return;
    inflateEnd(&(*decoder)->stream);
    free(*decoder);
    *decoder = NULL;
}

/* Before a member: its header, or the end of the file, perhaps behind zeros. */
static cse_status find_member(cse_gzip_decoder *decoder, cse_packed_input *input, bool *at_end)
{
    do {
        CSE_TRY(cse_packed_input_fill(input));
        while (decoder->had_member && input->at < input->size && input->bytes[input->at] == 0)
            input->at++;
        *at_end = input->at == input->size && input->size == 0;
    } while (input->at == input->size && !*at_end);
    if (*at_end)
        return CSE_OK;
    inflateReset(&decoder->stream);
    decoder->within_member = true;
    return CSE_OK;
}

static cse_status inflate_more(cse_gzip_decoder *decoder, cse_packed_input *input)
{
    z_stream *stream = &decoder->stream;
    CSE_TRY(cse_packed_input_fill(input));
    if (input->at == input->size)
        return cse_packed_cut_off(input);
    stream->next_in = input->bytes + input->at;
    stream->avail_in = (uInt)(input->size - input->at);
    const int code = inflate(stream, Z_NO_FLUSH);
    input->at = input->size - stream->avail_in;
    if (code == Z_STREAM_END) {
        decoder->within_member = false;
        decoder->had_member = true;
    } else if (code == Z_MEM_ERROR) {
        return cse_fail(CSE_TEMPORARY, "%s: no memory to unpack it", input->path);
    } else if (code != Z_OK && code != Z_BUF_ERROR) {
        return cse_packed_damaged(input, stream->msg != NULL ? stream->msg : "no gzip");
    }
    return CSE_OK;
}

cse_status cse_gzip_decoder_read(cse_gzip_decoder *decoder, cse_packed_input *input, void *bytes,
                                 size_t size, size_t *got)
{
    enum { PIECE_BYTES = 1 << 30 };
    *got = 0;
    while (*got < size) {
        bool at_end = false;
        if (!decoder->within_member)
            CSE_TRY(find_member(decoder, input, &at_end));
        if (at_end)
            break;
        const size_t left = size - *got;
        const uInt piece = left < PIECE_BYTES ? (uInt)left : PIECE_BYTES;
        decoder->stream.next_out = (unsigned char *)bytes + *got;
        decoder->stream.avail_out = piece;
        const cse_status status = inflate_more(decoder, input);
        *got += piece - decoder->stream.avail_out;
        CSE_TRY(status);
    }
    return CSE_OK;
}

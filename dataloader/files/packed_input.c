/* Blocks of a file and the two refusals that all decoders have. */
#include "dataloader/files/packed_input.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/arena.h"

enum { BLOCK_BYTES = 256 * 1024 };

void cse_packed_input_make(cse_packed_input *input, int descriptor, const char *path)
{
    *input = (cse_packed_input){ .descriptor = descriptor,
                                 .path = path,
                                 .bytes = cse_malloc(BLOCK_BYTES) };
}

void cse_packed_input_clear(cse_packed_input *input)
{
    close(input->descriptor);
    free(input->bytes);
    *input = (cse_packed_input){ .descriptor = -1 };
}

cse_status cse_packed_input_fill(cse_packed_input *input)
{
    ssize_t count;
    if (input->at < input->size)
        return CSE_OK;
    do
        count = read(input->descriptor, input->bytes, BLOCK_BYTES);
    while (count < 0 && errno == EINTR);
    if (count < 0)
        return cse_fail(CSE_IO, "%s: reading failed: %s", input->path, strerror(errno));
    input->at = 0;
    input->size = (size_t)count;
    return CSE_OK;
}

cse_status cse_packed_damaged(const cse_packed_input *input, const char *why)
{
    return cse_fail(CSE_DATA, "%s: the compressed stream is damaged (%s): fetch the file again",
                    input->path, why);
}

cse_status cse_packed_cut_off(const cse_packed_input *input)
{
    return cse_fail(CSE_DATA,
                    "%s: the compressed stream ends too early: the file is truncated; fetch it "
                    "again",
                    input->path);
}

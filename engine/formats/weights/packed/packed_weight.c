/* A range may begin and end within a block, or even within a number: the blocks that it touches are
 * unpacked one after the other, and what is asked for is copied out. */
#include "engine/formats/weights/packed/packed_weight.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/error.h"
#include "engine/formats/checkpoint/file_bytes.h"

enum { BLOCKS_AT_ONCE = 64 };

bool cse_packed_fits(const cse_packed_type *type, cse_shape shape)
{
    return shape.rank > 0 && shape.dims[shape.rank - 1] % type->elements == 0;
}

uint64_t cse_packed_bytes(const cse_packed_type *type, uint64_t elements)
{
    return elements / (uint64_t)type->elements * type->bytes;
}

static cse_status read_blocks(const cse_packed_place *place, uint64_t block, uint64_t count,
                              unsigned char *to)
{
    const size_t bytes = (size_t)count * place->type->bytes;
    const int64_t got = cse_read_at(place->descriptor, to, bytes,
                                    place->offset + block * (uint64_t)place->type->bytes);
    if (got == (int64_t)bytes)
        return CSE_OK;
    return cse_fail(CSE_IO, "%s: '%s' cannot be read: %s", place->path, place->name,
                    got < 0 ? strerror(errno) : "the file has become shorter");
}

cse_status cse_packed_read(const cse_packed_place *place, uint64_t first, size_t bytes, void *to)
{
    const cse_packed_type *type = place->type;
    const uint64_t width = (uint64_t)type->elements * sizeof(float), end = first + bytes;
    unsigned char blocks[BLOCKS_AT_ONCE * CSE_PACKED_MOST_BYTES];
    float values[CSE_PACKED_MOST_ELEMENTS];
    unsigned char *out = to;
    for (uint64_t at = first; at < end;) {
        const uint64_t block = at / width, left = (end - 1) / width + 1 - block;
        const uint64_t some = left < BLOCKS_AT_ONCE ? left : BLOCKS_AT_ONCE;
        CSE_TRY(read_blocks(place, block, some, blocks));
        for (uint64_t i = 0; i < some; i++) {
            const uint64_t begin = (block + i) * width, skipped = at - begin;
            const uint64_t stop = begin + width < end ? begin + width : end;
            type->unpack(blocks + i * type->bytes, values);
            memcpy(out, (const unsigned char *)values + skipped, (size_t)(stop - at));
            out += stop - at;
            at = stop;
        }
    }
    return CSE_OK;
}

void cse_packed_pack(const cse_packed_type *type, const float *values, size_t count,
                     unsigned char *to)
{
    for (size_t i = 0; i < count; i += (size_t)type->elements, to += type->bytes)
        type->pack(values + i, to);
}

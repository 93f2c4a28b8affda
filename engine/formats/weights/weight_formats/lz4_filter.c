/* A chunk is the size of its elements and of a block, big endian, then for each block its size and
 * the block: LZ4 (lz4_Block_format.md), or the elements themselves where those are no longer. */
#include "engine/formats/weights/weight_formats/lz4_filter.h"

#include <hdf5.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "engine/formats/checkpoint/hdf5_chunks.h"

enum { HEAD_BYTES = 12, LEAST_MATCH = 4, MOST_CHUNK_BYTES = INT32_MAX };

/* A length that goes on in further bytes where its four bits are all ones. */
static int take_length(const unsigned char **at, const unsigned char *end, size_t *length)
{
    unsigned char more = 255;
    if (*length != 15)
        return 0;
    while (more == 255) {
        if (*at == end)
            return -1;
        more = *(*at)++;
        *length += more;
    }
    return 0;
}

int cse_lz4_decode(const unsigned char *block, size_t bytes, unsigned char *to, size_t size)
{
    const unsigned char *at = block, *end = block + bytes;
    size_t made = 0;
    while (at < end) {
        const unsigned char token = *at++;
        size_t literals = token >> 4, match = token & 15;
        if (take_length(&at, end, &literals) != 0 || literals > (size_t)(end - at) ||
            literals > size - made)
            return -1;
        memcpy(to + made, at, literals);
        made += literals;
        at += literals;
        if (at == end)
            return made == size ? 0 : -1;
        if (end - at < 2)
            return -1;
        const size_t back = at[0] | (size_t)at[1] << 8;
        at += 2;
        if (take_length(&at, end, &match) != 0)
            return -1;
        match += LEAST_MATCH;
        if (back == 0 || back > made || match > size - made)
            return -1;
        for (size_t i = 0; i < match; i++, made++) /* it may overlap what it makes */
            to[made] = to[made - back];
    }
    return -1;
}

static uint64_t number(const unsigned char *at, int bytes)
{
    uint64_t value = 0;
    for (int i = 0; i < bytes; i++)
        value = value << 8 | at[i];
    return value;
}

static int decode_blocks(const unsigned char *in, size_t bytes, unsigned char *to, size_t size)
{
    const uint64_t block = number(in + 8, 4);
    const unsigned char *at = in + HEAD_BYTES, *end = in + bytes;
    for (size_t made = 0; made < size;) {
        const size_t whole = size - made < block ? size - made : (size_t)block;
        if (whole == 0 || end - at < 4)
            return -1;
        const uint64_t packed = number(at, 4);
        at += 4;
        if (packed > (uint64_t)(end - at) || packed > whole)
            return -1;
        if (packed == whole)
            memcpy(to + made, at, whole);
        else if (cse_lz4_decode(at, packed, to + made, whole) != 0)
            return -1;
        at += packed;
        made += whole;
    }
    return 0;
}

/* As HDF5 calls it: the buffer is exchanged; 0 is a failure. */
static size_t h5z_decode(unsigned flags, size_t count, const unsigned *values, size_t bytes,
                         size_t *capacity, void **buffer)
{
    (void)count;
    (void)values;
    const unsigned char *in = *buffer;
    if (!(flags & H5Z_FLAG_REVERSE) || bytes < HEAD_BYTES)
        return 0;
    const uint64_t size = number(in, 8);
    if (size == 0 || size > MOST_CHUNK_BYTES || size / 256 > bytes)
        return 0; /* LZ4 makes at most 255 bytes of one */
    unsigned char *out = H5allocate_memory(size, 0);
    if (out == NULL || decode_blocks(in, bytes, out, size) != 0) {
        H5free_memory(out);
        return 0;
    }
    H5free_memory(*buffer);
    *buffer = out;
    *capacity = size;
    return size;
}

void cse_lz4_filter_register(void)
{
    static const H5Z_class2_t class = {
        H5Z_CLASS_T_VERS, CSE_CHUNK_FILTER_LZ4, 0, 1, "LZ4 (read)", NULL, NULL, h5z_decode,
    };
    if (H5Zfilter_avail(CSE_CHUNK_FILTER_LZ4) <= 0)
        (void)H5Zregister(&class);
}

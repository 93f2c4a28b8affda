/* Filters that keep the size (shuffle), take four bytes away (fletcher32), or unpack (deflate,
 * LZ4). */
#include "engine/formats/checkpoint/hdf5_chunks.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "engine/base/arena.h"

enum { CHECKSUM_BYTES = 4, SCRATCH_BYTES = 1 << 16, MOST_KNOWN = 1 << 26 };

hid_t cse_hdf5_dataset_open(hid_t file, const char *name)
{
    hid_t dataset = H5Dopen2(file, name, H5P_DEFAULT);
    if (dataset < 0)
        return dataset;
    const hid_t creation = H5Dget_create_plist(dataset);
    const bool lies_open = H5Pget_layout(creation) == H5D_CHUNKED && H5Pget_nfilters(creation) == 0;
    H5Pclose(creation);
    if (!lies_open)
        return dataset;
    H5Dclose(dataset);
    const hid_t access = H5Pcreate(H5P_DATASET_ACCESS);
    H5Pset_chunk_cache(access, H5D_CHUNK_CACHE_NSLOTS_DEFAULT, 0, H5D_CHUNK_CACHE_W0_DEFAULT);
    dataset = H5Dopen2(file, name, access);
    H5Pclose(access);
    return dataset;
}

bool cse_hdf5_filter_is_known(H5Z_filter_t filter)
{
    return filter == H5Z_FILTER_DEFLATE || filter == H5Z_FILTER_SHUFFLE ||
           filter == H5Z_FILTER_FLETCHER32 ||
           (filter == CSE_CHUNK_FILTER_LZ4 && H5Zfilter_avail(filter) > 0);
}

bool cse_hdf5_chunks_begin(cse_hdf5_chunks *chunks, hid_t dataset, int rank, const hsize_t *dims,
                           uint64_t element)
{
    *chunks = (cse_hdf5_chunks){ .dataset = dataset, .rank = rank, .bytes = element };
    const hid_t creation = H5Dget_create_plist(dataset);
    const int filters = H5Pget_nfilters(creation);
    bool good = filters <= CSE_CHUNK_FILTERS && H5Pget_layout(creation) == H5D_CHUNKED &&
                H5Pget_chunk(creation, CSE_CHUNK_RANK, chunks->sizes) == rank;
    const bool whole = H5Pget_layout(creation) != H5D_CHUNKED;
    unsigned choices = 0; /* such as edges that are not filtered */
    good = good && H5Pget_chunk_opts(creation, &choices) >= 0 && choices == 0;
    for (int i = 0; i < filters && good; i++) {
        unsigned flags = 0, configuration = 0;
        size_t values = 0;
        const H5Z_filter_t filter = chunks->filters[i] =
            H5Pget_filter2(creation, (unsigned)i, &flags, &values, NULL, 0, NULL, &configuration);
        good = cse_hdf5_filter_is_known(filter);
    }
    H5Pclose(creation);
    if (whole || !good)
        return whole;
    uint64_t all = 1;
    for (int d = 0; d < rank; d++) {
        if (chunks->sizes[d] == 0)
            return false;
        chunks->bytes *= chunks->sizes[d];
        chunks->counts[d] = (dims[d] + chunks->sizes[d] - 1) / chunks->sizes[d];
        all = chunks->counts[d] > MOST_KNOWN / all ? MOST_KNOWN : all * chunks->counts[d];
        all = all > 0 ? all : 1;
    }
    chunks->filter_count = filters;
    chunks->is_chunked = true;
    if (all < MOST_KNOWN)
        chunks->known = cse_calloc((size_t)all / 8 + 1, 1);
    chunks->unpacked = cse_malloc(SCRATCH_BYTES);
    return true;
}

void cse_hdf5_chunks_clear(cse_hdf5_chunks *chunks)
{
    free(chunks->known);
    free(chunks->packed);
    free(chunks->unpacked);
    chunks->known = chunks->packed = chunks->unpacked = NULL;
}

/* The bytes that deflate makes of `size`, up to one more than `most`. */
static uint64_t inflated(cse_hdf5_chunks *c, uint64_t size, uint64_t most)
{
    z_stream stream = { .next_in = c->packed, .avail_in = (uInt)size };
    uint64_t made = 0;
    if (size > UINT32_MAX || inflateInit(&stream) != Z_OK)
        return 0;
    for (int result = Z_OK; result == Z_OK && made <= most;) {
        stream.next_out = c->unpacked;
        stream.avail_out = SCRATCH_BYTES;
        result = inflate(&stream, Z_NO_FLUSH);
        made += SCRATCH_BYTES - stream.avail_out;
        if (result == Z_OK && stream.avail_out == SCRATCH_BYTES)
            break;
    }
    inflateEnd(&stream);
    return made;
}

/* The bytes that LZ4 makes, which its chunks begin with; it makes so many or fails. */
static uint64_t unpacked_by_lz4(const cse_hdf5_chunks *c, uint64_t size)
{
    uint64_t made = 0;
    for (int i = 0; i < 8 && size >= 8; i++)
        made = made << 8 | c->packed[i];
    return made;
}

/* Without filters: then H5Dget_chunk_storage_size does not tell what the file has. */
static bool open_chunk_fits(const cse_hdf5_chunks *c, const hsize_t *offset)
{
    hsize_t stored = 0;
    unsigned skips = 0;
    haddr_t address = HADDR_UNDEF;
    return H5Dget_chunk_info_by_coord(c->dataset, offset, &skips, &address, &stored) >= 0 &&
           (stored == 0 || stored == c->bytes);
}

/* All is asked by the search that reading uses: where a file names a chunk twice, another one finds
 * the other. */
static bool fits(cse_hdf5_chunks *c, const hsize_t *offset)
{
    hsize_t stored = 0;
    uint32_t skips = 0;
    bool unpacks = false;
    if (c->filter_count == 0)
        return open_chunk_fits(c, offset);
    if (H5Dget_chunk_storage_size(c->dataset, offset, &stored) < 0)
        return false;
    if (stored == 0) /* not in the file: zeros */
        return true;
    if (stored > 2 * c->bytes + SCRATCH_BYTES)
        return false;
    if (stored > c->packed_bytes) {
        c->packed = cse_realloc(c->packed, (size_t)stored);
        c->packed_bytes = stored;
    }
    if (H5Dread_chunk(c->dataset, H5P_DEFAULT, offset, &skips, c->packed) < 0)
        return false;
    uint64_t size = stored;
    for (int i = c->filter_count - 1; i >= 0; i--) {
        if (skips >> i & 1 || c->filters[i] == H5Z_FILTER_SHUFFLE)
            continue;
        if (c->filters[i] == H5Z_FILTER_FLETCHER32) {
            if (size < CHECKSUM_BYTES)
                return false;
            size -= CHECKSUM_BYTES;
        } else if (unpacks) {
            return false; /* what was packed twice */
        } else {
            size = c->filters[i] == CSE_CHUNK_FILTER_LZ4
                       ? unpacked_by_lz4(c, size)
                       : inflated(c, size, c->bytes + CHECKSUM_BYTES);
            unpacks = true;
        }
    }
    return size == c->bytes;
}

bool cse_hdf5_chunks_fit(cse_hdf5_chunks *c, const hsize_t *start, const hsize_t *count)
{
    hsize_t at[CSE_CHUNK_RANK], last[CSE_CHUNK_RANK], offset[CSE_CHUNK_RANK];
    if (!c->is_chunked)
        return true;
    for (int d = 0; d < c->rank; d++) {
        if (count[d] == 0)
            return true;
        at[d] = start[d] / c->sizes[d];
        last[d] = (start[d] + count[d] - 1) / c->sizes[d];
    }
    for (;;) {
        uint64_t number = 0;
        for (int d = 0; d < c->rank; d++) {
            number = number * c->counts[d] + at[d];
            offset[d] = at[d] * c->sizes[d];
        }
        if (c->known == NULL || !(c->known[number / 8] >> (number % 8) & 1)) {
            if (!fits(c, offset))
                return false;
            if (c->known != NULL)
                c->known[number / 8] |= (unsigned char)(1U << (number % 8));
        }
        int d = c->rank - 1;
        while (d >= 0 && at[d] == last[d]) {
            at[d] = start[d] / c->sizes[d];
            d--;
        }
        if (d < 0)
            return true;
        at[d]++;
    }
}

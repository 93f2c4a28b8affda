/* Chunks of a dataset in HDF5 that a stranger may have written: libhdf5 1.10 reads as many bytes as
 * a chunk has, also where the file has fewer of them, or a filter makes fewer. So the size of each
 * is looked at before, and what is packed is unpacked once for it. */
#ifndef CSE_CHECKPOINT_HDF5_CHUNKS_H
#define CSE_CHECKPOINT_HDF5_CHUNKS_H

#include <hdf5.h>
#include <stdbool.h>
#include <stdint.h>

enum { CSE_CHUNK_RANK = 8, CSE_CHUNK_FILTERS = 8, CSE_CHUNK_FILTER_LZ4 = 32004 };

/* Opens a dataset so that chunks without filters are read where they lie: in its memory for chunks
 * the library keeps as many bytes as the file says, and takes those of a chunk from them. */
hid_t cse_hdf5_dataset_open(hid_t file, const char *name);

/* Whether the sizes that a filter makes are known here: deflate, shuffle, fletcher32, and LZ4 where
 * that is registered. */
bool cse_hdf5_filter_is_known(H5Z_filter_t filter);

typedef struct cse_hdf5_chunks {
    hid_t dataset; /* borrowed */
    bool is_chunked;
    int rank, filter_count;
    H5Z_filter_t filters[CSE_CHUNK_FILTERS];
    hsize_t sizes[CSE_CHUNK_RANK], counts[CSE_CHUNK_RANK]; /* of a chunk; of chunks */
    uint64_t bytes;                                        /* of a chunk's values */
    unsigned char *known; /* bits of chunks that fit; NULL: there are too many to remember */
    unsigned char *packed, *unpacked;
    uint64_t packed_bytes;
} cse_hdf5_chunks;

/* `dims`: of the dataset; `element`: bytes of one. False: it has filters whose sizes are not known
 * here. A dataset without chunks always fits. Clear it also then. */
bool cse_hdf5_chunks_begin(cse_hdf5_chunks *chunks, hid_t dataset, int rank, const hsize_t *dims,
                           uint64_t element);
void cse_hdf5_chunks_clear(cse_hdf5_chunks *chunks);

/* Whether all chunks with some of these elements have the bytes that libhdf5 will read. */
bool cse_hdf5_chunks_fit(cse_hdf5_chunks *chunks, const hsize_t *start, const hsize_t *count);

#endif

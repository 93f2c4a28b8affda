/* A sample takes time + 1 tokens, and the next one begins with the last of them. Rows are
 * compressed beside each other, as many as a block has, and written in order. */
#include "dataloader/prepare/token_writer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "engine/base/arena.h"
#include "engine/base/types/npy_header.h"
#include "engine/formats/checkpoint/hdf5_library.h"
#include "engine/formats/checkpoint/parallel.h"

enum {
    FEATURES = 3,
    BLOCK_ROWS = 256,
    BLOCK_BYTES = 1 << 26,
    COMPRESSION = 1,
    NPY_HEADER_BYTES = 128
};

typedef struct packed_row {
    unsigned char *bytes; /* [bound] */
    uLongf size;
} packed_row;

struct cse_token_writer {
    cse_token_writer_options options;
    cse_token_writer_counts counts;
    char path[4096];
    int32_t *window; /* [time + 1] */
    int64_t filled;
    int64_t file_rows; /* of the open file, those of the block included */
    /* HDF5 */
    hid_t file, dataset;
    int32_t *rows;        /* [BLOCK_ROWS, FEATURES, time] */
    int block, most_rows; /* rows that wait to be written, and how many may */
    packed_row packed[BLOCK_ROWS];
    /* npy */
    FILE *stream;
    int64_t stream_tokens;
};

static size_t row_bytes(const cse_token_writer *w)
{
    return FEATURES * (size_t)w->options.time * sizeof(int32_t);
}

cse_token_writer *cse_token_writer_new(const cse_token_writer_options *options)
{
    cse_token_writer *w = cse_calloc(1, sizeof *w);
    w->options = *options;
    w->file = w->dataset = H5I_INVALID_HID;
    w->window = cse_calloc((size_t)options->time + 1, sizeof *w->window);
    const size_t fitting = BLOCK_BYTES / row_bytes(w);
    w->most_rows = fitting > BLOCK_ROWS ? BLOCK_ROWS : fitting > 0 ? (int)fitting : 1;
    if (!options->npy)
        w->rows = cse_calloc((size_t)w->most_rows, row_bytes(w));
    return w;
}

static void close_hdf5(cse_token_writer *w)
{
    if (w->dataset >= 0)
        H5Dclose(w->dataset);
    if (w->file >= 0)
        H5Fclose(w->file);
    w->file = w->dataset = H5I_INVALID_HID;
}

void cse_token_writer_close(cse_token_writer **writer)
{
    cse_token_writer *w = *writer;
    if (w == NULL)
        return;
    const cse_hdf5_quiet quiet = cse_hdf5_silence();
    close_hdf5(w);
    cse_hdf5_restore(quiet);
    if (w->stream != NULL)
        fclose(w->stream);
    for (int i = 0; i < BLOCK_ROWS; i++)
        free(w->packed[i].bytes);
    free(w->rows);
    free(w->window);
    free(w);
    *writer = NULL;
}

cse_token_writer_counts cse_token_writer_counts_of(const cse_token_writer *writer)
{
    return writer->counts;
}

static const char *next_path(cse_token_writer *w, const char *ending)
{
    snprintf(w->path, sizeof w->path, "%s/data-%05" PRId64 "%s", w->options.folder,
             w->counts.files++, ending);
    return w->path;
}

/* ---- HDF5 ---- */

static cse_status open_hdf5(cse_token_writer *w)
{
    const hsize_t time = (hsize_t)w->options.time;
    const hsize_t none[3] = { 0, FEATURES, time }, most[3] = { H5S_UNLIMITED, FEATURES, time };
    const hsize_t chunk[3] = { 1, FEATURES, time };
    const char *path = next_path(w, ".h5");
    w->file = H5Fcreate(path, H5F_ACC_EXCL, H5P_DEFAULT, H5P_DEFAULT);
    if (w->file < 0)
        return cse_hdf5_failed(CSE_CANNOT_CREATE, path, "create the file");
    const hid_t space = H5Screate_simple(3, none, most), creation = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(creation, 3, chunk);
    H5Pset_deflate(creation, COMPRESSION);
    H5Pset_obj_track_times(creation, false);
    w->dataset =
        H5Dcreate2(w->file, "data", H5T_STD_I32LE, space, H5P_DEFAULT, creation, H5P_DEFAULT);
    H5Pclose(creation);
    H5Sclose(space);
    return w->dataset >= 0 ? CSE_OK : cse_hdf5_failed(CSE_IO, path, "create dataset data");
}

static void pack_row(void *self, int index)
{
    cse_token_writer *w = self;
    packed_row *row = &w->packed[index];
    const uLong bound = compressBound(row_bytes(w));
    if (row->bytes == NULL)
        row->bytes = cse_malloc(bound);
    row->size = bound;
    compress2(row->bytes, &row->size, (const Bytef *)w->rows + (size_t)index * row_bytes(w),
              row_bytes(w), COMPRESSION);
}

/* The rows of the block follow those of the file. */
static cse_status write_block(cse_token_writer *w)
{
    const hsize_t begin = (hsize_t)(w->file_rows - w->block);
    const hsize_t size[3] = { (hsize_t)w->file_rows, FEATURES, (hsize_t)w->options.time };
    if (w->block == 0)
        return CSE_OK;
    cse_parallel_for(w->block, pack_row, w);
    if (H5Dset_extent(w->dataset, size) < 0)
        return cse_hdf5_failed(CSE_IO, w->path, "extend dataset data");
    for (int i = 0; i < w->block; i++) {
        const hsize_t offset[3] = { begin + (hsize_t)i, 0, 0 };
        if (H5Dwrite_chunk(w->dataset, H5P_DEFAULT, 0, offset, w->packed[i].size,
                           w->packed[i].bytes) < 0)
            return cse_hdf5_failed(CSE_IO, w->path, "write samples: is the disk full?");
    }
    w->block = 0;
    return CSE_OK;
}

static cse_status end_hdf5(cse_token_writer *w)
{
    if (w->file < 0)
        return CSE_OK;
    CSE_TRY(write_block(w));
    const hid_t scalar = H5Screate(H5S_SCALAR);
    const hid_t attribute =
        H5Acreate2(w->file, "n_examples", H5T_STD_I64LE, scalar, H5P_DEFAULT, H5P_DEFAULT);
    const bool written = H5Awrite(attribute, H5T_NATIVE_INT64, &w->file_rows) >= 0;
    H5Aclose(attribute);
    H5Sclose(scalar);
    H5Dclose(w->dataset);
    w->dataset = H5I_INVALID_HID;
    const bool closed = H5Fclose(w->file) >= 0;
    w->file = H5I_INVALID_HID;
    w->file_rows = 0;
    return written && closed ? CSE_OK
                             : cse_hdf5_failed(CSE_IO, w->path, "finish it: is the disk full?");
}

/* The window's tokens as a row; those from `used` on are padding. */
static cse_status add_row(cse_token_writer *w, int64_t used)
{
    const int64_t time = w->options.time;
    if (w->file < 0)
        CSE_TRY(open_hdf5(w));
    int32_t *ids = w->rows + (size_t)w->block * FEATURES * (size_t)time;
    int32_t *mask = ids + time, *labels = mask + time;
    for (int64_t t = 0; t < time; t++) {
        ids[t] = t < used ? w->window[t] : w->options.padding;
        labels[t] = t + 1 < used ? w->window[t + 1] : w->options.padding;
        mask[t] = t + 1 < used;
    }
    w->block++;
    w->file_rows++;
    w->counts.samples++;
    if (w->file_rows == w->options.file_samples)
        return end_hdf5(w);
    return w->block == w->most_rows ? write_block(w) : CSE_OK;
}

static cse_status add_to_window(cse_token_writer *w, const int32_t *tokens, size_t count)
{
    while (count > 0) {
        const int64_t room = w->options.time + 1 - w->filled;
        const size_t taken = count < (size_t)room ? count : (size_t)room;
        memcpy(w->window + w->filled, tokens, taken * sizeof *tokens);
        w->filled += (int64_t)taken;
        tokens += taken;
        count -= taken;
        if (w->filled <= w->options.time)
            continue;
        CSE_TRY(add_row(w, w->filled));
        w->window[0] = w->window[w->options.time];
        w->filled = 1;
    }
    return CSE_OK;
}

/* ---- npy ---- */

static bool is_short(const cse_token_writer *w)
{
    return w->options.vocab_size <= 1 << 16;
}

static bool write_npy_header(cse_token_writer *w)
{
    cse_text header = { 0 };
    cse_npy_header_print(is_short(w) ? "<u2" : "<i4", cse_shape_of(w->stream_tokens),
                         NPY_HEADER_BYTES, &header);
    const bool written = fseek(w->stream, 0, SEEK_SET) == 0 &&
                         fwrite(header.data, 1, header.size, w->stream) == header.size;
    cse_text_clear(&header);
    return written;
}

static cse_status npy_failed(cse_token_writer *w)
{
    return cse_fail(CSE_IO, "%s: writing failed: %s", w->path, strerror(errno));
}

static cse_status end_npy(cse_token_writer *w)
{
    if (w->stream == NULL)
        return CSE_OK;
    const bool written = write_npy_header(w);
    const bool closed = fclose(w->stream) == 0;
    w->stream = NULL;
    w->stream_tokens = 0;
    return written && closed ? CSE_OK : npy_failed(w);
}

static cse_status add_npy(cse_token_writer *w, const int32_t *tokens, size_t count)
{
    const int64_t most = w->options.file_samples * w->options.time;
    for (size_t i = 0; i < count; i++) {
        const uint16_t small = (uint16_t)tokens[i];
        if (w->stream == NULL) {
            w->stream = fopen(next_path(w, ".npy"), "wbxe");
            if (w->stream == NULL)
                return cse_fail(CSE_CANNOT_CREATE, "%s: %s", w->path, strerror(errno));
            if (!write_npy_header(w))
                return npy_failed(w);
        }
        const void *bytes = is_short(w) ? (const void *)&small : (const void *)&tokens[i];
        if (fwrite(bytes, is_short(w) ? 2 : 4, 1, w->stream) != 1)
            return npy_failed(w);
        if (++w->stream_tokens == most)
            CSE_TRY(end_npy(w));
    }
    return CSE_OK;
}

/* ---- both ---- */

cse_status cse_token_writer_add(cse_token_writer *w, const int32_t *tokens, size_t count)
{
    w->counts.tokens += (int64_t)count;
    if (w->options.npy)
        return add_npy(w, tokens, count);
    const cse_hdf5_quiet quiet = cse_hdf5_silence();
    cse_status status = add_to_window(w, tokens, count);
    cse_hdf5_restore(quiet);
    return status;
}

cse_status cse_token_writer_finish(cse_token_writer *w)
{
    if (w->options.npy)
        return end_npy(w);
    const cse_hdf5_quiet quiet = cse_hdf5_silence();
    cse_status status = w->filled > 1 ? add_row(w, w->filled) : CSE_OK;
    w->filled = 0;
    if (status == CSE_OK)
        status = end_hdf5(w);
    cse_hdf5_restore(quiet);
    return status;
}

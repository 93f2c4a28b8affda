/* The library's calls for one dataset, by the driver of the checkpoints over an open file. */
#include "dataloader/formats/hdf5_table.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"
#include "engine/formats/checkpoint/hdf5_chunks.h"
#include "engine/formats/checkpoint/hdf5_driver.h"
#include "engine/formats/checkpoint/hdf5_library.h"

enum { MOST_RANK = 4 };
#define MOST_DIM (INT64_C(1) << 40)
#define MOST_CHUNK_BYTES (INT64_C(1) << 28) /* HDF5 keeps chunks in memory */

struct cse_hdf5_table {
    const char *path, *name;
    cse_hdf5_target target;
    hid_t access, file, dataset, space;
    int rank;
    hsize_t dims[MOST_RANK];
    cse_hdf5_chunks *chunks; /* what is known of them, also while a table is only read */
    bool lies_open;          /* in one piece, from `place` in the file, of these numbers */
    int64_t place;
    cse_npy_header numbers;
};

static cse_status refuse(const cse_hdf5_table *t, const char *what)
{
    return cse_fail(CSE_DATA, "%s: dataset %s %s", t->path, t->name, what);
}

static bool is_type(hid_t type, hid_t other)
{
    return H5Tequal(type, other) > 0;
}

/* Numbers in the order of this machine. */
static bool find_numbers(hid_t type, cse_npy_header *numbers)
{
    const struct {
        hid_t type;
        char kind;
        int size;
    } known[] = {
        { H5T_STD_I8LE, 'i', 1 },  { H5T_STD_U8LE, 'u', 1 },  { H5T_STD_I16LE, 'i', 2 },
        { H5T_STD_U16LE, 'u', 2 }, { H5T_STD_I32LE, 'i', 4 }, { H5T_IEEE_F32LE, 'f', 4 },
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (is_type(type, known[i].type)) {
            *numbers = (cse_npy_header){ .kind = known[i].kind, .size = known[i].size };
            return true;
        }
    return false;
}

/* Where the values lie, if the system can read them without the library. */
static void find_place(cse_hdf5_table *t)
{
    const hid_t type = H5Dget_type(t->dataset), creation = H5Dget_create_plist(t->dataset);
    const haddr_t place = H5Dget_offset(t->dataset);
    t->lies_open = H5Pget_layout(creation) == H5D_CONTIGUOUS && place != HADDR_UNDEF &&
                   place < (haddr_t)INT64_MAX && find_numbers(type, &t->numbers);
    t->place = t->lies_open ? (int64_t)place : 0;
    H5Tclose(type);
    H5Pclose(creation);
}

static cse_status check_storage(const cse_hdf5_table *t)
{
    hsize_t chunk[MOST_RANK];
    int64_t elements = 1;
    const hid_t type = H5Dget_type(t->dataset), creation = H5Dget_create_plist(t->dataset);
    const H5T_class_t kind = H5Tget_class(type);
    const int64_t size = (int64_t)H5Tget_size(type);
    const H5D_layout_t layout = H5Pget_layout(creation);
    const bool outside = H5Pget_external_count(creation) != 0 || layout == H5D_VIRTUAL;
    const bool chunked = layout == H5D_CHUNKED;
    if (chunked && H5Pget_chunk(creation, t->rank, chunk) == t->rank)
        for (int i = 0; i < t->rank; i++)
            elements = chunk[i] > (hsize_t)(MOST_CHUNK_BYTES / elements)
                           ? MOST_CHUNK_BYTES
                           : elements * (int64_t)(chunk[i] > 0 ? chunk[i] : 1);
    H5Tclose(type);
    H5Pclose(creation);
    if ((kind != H5T_INTEGER && kind != H5T_FLOAT) || size == 0) /* by which libhdf5 divides */
        return refuse(t, "is neither of whole numbers nor of floats");
    if (outside)
        return refuse(t, "has its values in another file, which is not accepted");
    if (chunked && elements > MOST_CHUNK_BYTES / (size > 0 ? size : 1))
        return refuse(t, "has chunks of more than 256 MiB: write it with smaller ones");
    if (!cse_hdf5_chunks_begin(t->chunks, t->dataset, t->rank, t->dims, (uint64_t)size))
        return refuse(t, "has filters that are not accepted: write it with deflate, shuffle or "
                         "fletcher32, or without, as `h5repack -f NONE` does");
    return CSE_OK;
}

static cse_status open_dataset(cse_hdf5_table *t)
{
    H5L_info_t link;
    if (H5Lget_info(t->file, t->name, &link, H5P_DEFAULT) < 0)
        return refuse(t, "is missing");
    if (link.type != H5L_TYPE_HARD)
        return refuse(t, "is a link, which is not accepted");
    t->dataset = cse_hdf5_dataset_open(t->file, t->name);
    if (t->dataset < 0)
        return cse_hdf5_failed(CSE_DATA, t->path, "open the dataset");
    t->space = H5Dget_space(t->dataset);
    t->rank = H5Sget_simple_extent_ndims(t->space);
    if (t->rank < 1 || t->rank > MOST_RANK)
        return refuse(t, "has no dimensions, or more than 4");
    H5Sget_simple_extent_dims(t->space, t->dims, NULL);
    for (int i = 0; i < t->rank; i++)
        if (t->dims[i] > (hsize_t)MOST_DIM)
            return refuse(t, "has a dimension of more than 2^40");
    CSE_TRY(check_storage(t));
    find_place(t);
    return CSE_OK;
}

static cse_status open_all(cse_hdf5_table *t)
{
    H5PLset_loading_state(0); /* no filters from shared objects */
    t->access = cse_hdf5_access_new(&t->target);
    H5Pset_libver_bounds(t->access, H5F_LIBVER_EARLIEST, H5F_LIBVER_LATEST);
    t->file = t->access < 0 ? H5I_INVALID_HID : H5Fopen(t->path, H5F_ACC_RDONLY, t->access);
    if (t->file < 0)
        return cse_hdf5_failed(CSE_DATA, t->path, "open the file");
    return open_dataset(t);
}

cse_status cse_hdf5_table_open(int descriptor, const char *path, const char *name,
                               cse_hdf5_table **table)
{
    cse_hdf5_table *t = cse_calloc(1, sizeof *t);
    *t = (cse_hdf5_table){ .path = path,
                           .name = name,
                           .target = { .descriptor = descriptor },
                           .access = H5I_INVALID_HID,
                           .file = H5I_INVALID_HID,
                           .dataset = H5I_INVALID_HID,
                           .space = H5I_INVALID_HID,
                           .chunks = cse_calloc(1, sizeof *t->chunks) };
    const cse_hdf5_quiet quiet = cse_hdf5_silence();
    cse_status status = open_all(t);
    cse_hdf5_restore(quiet);
    if (status != CSE_OK)
        cse_hdf5_table_close(&t);
    *table = t;
    return status;
}

void cse_hdf5_table_close(cse_hdf5_table **table)
{
    cse_hdf5_table *t = *table;
    if (t == NULL)
        return;
    if (t->space >= 0)
        H5Sclose(t->space);
    if (t->dataset >= 0)
        H5Dclose(t->dataset);
    if (t->file >= 0)
        H5Fclose(t->file);
    if (t->access >= 0)
        H5Pclose(t->access);
    cse_hdf5_chunks_clear(t->chunks);
    free(t->chunks);
    free(t);
    *table = NULL;
}

cse_shape cse_hdf5_table_shape(const cse_hdf5_table *table)
{
    cse_shape shape = { .rank = table->rank };
    for (int i = 0; i < table->rank; i++)
        shape.dims[i] = (int64_t)table->dims[i];
    return shape;
}

/* Whether a block is one piece of the file that becomes these numbers without a loss; its place
 * among the values and its size. */
static bool is_one_piece(const cse_hdf5_table *t, const int64_t *starts, const int64_t *counts,
                         cse_dtype dtype, int64_t range[2])
{
    if (!t->lies_open || (t->numbers.kind == 'f') != (dtype == CSE_FLOAT32))
        return false;
    bool whole = false; /* all of the dimensions that follow one of several */
    range[0] = 0;
    range[1] = 1;
    for (int i = 0; i < t->rank; i++) {
        const int64_t dim = (int64_t)t->dims[i];
        if (starts[i] < 0 || counts[i] < 0 || counts[i] > dim || starts[i] > dim - counts[i] ||
            (whole && counts[i] != dim))
            return false;
        whole = whole || counts[i] != 1;
        if (__builtin_mul_overflow(range[0], dim, &range[0]) ||
            __builtin_add_overflow(range[0], starts[i], &range[0]) ||
            __builtin_mul_overflow(range[1], counts[i], &range[1]))
            return false;
    }
    return range[0] <= INT64_MAX / 8 - t->place && range[1] <= INT64_MAX / 8;
}

bool cse_hdf5_table_place(const cse_hdf5_table *table, const int64_t *starts, const int64_t *counts,
                          cse_dtype dtype, cse_hdf5_piece *piece)
{
    int64_t range[2];
    if (!is_one_piece(table, starts, counts, dtype, range))
        return false;
    *piece = (cse_hdf5_piece){ .numbers = table->numbers,
                               .offset = table->place + range[0] * table->numbers.size,
                               .count = range[1] };
    return true;
}

cse_status cse_hdf5_table_read(const cse_hdf5_table *table, const int64_t *starts,
                               const int64_t *counts, cse_dtype dtype, void *values)
{
    hsize_t start[MOST_RANK], count[MOST_RANK];
    for (int i = 0; i < table->rank; i++) {
        start[i] = (hsize_t)starts[i];
        count[i] = (hsize_t)counts[i];
    }
    const cse_hdf5_quiet quiet = cse_hdf5_silence();
    const hid_t memory = H5Screate_simple(table->rank, count, NULL);
    const hid_t type = dtype == CSE_INT32 ? H5T_NATIVE_INT32 : H5T_NATIVE_FLOAT;
    cse_status status = CSE_OK;
    if (!cse_hdf5_chunks_fit(table->chunks, start, count))
        status = refuse(table, "has a chunk that is damaged: it has not the bytes of its values");
    else if (H5Sselect_hyperslab(table->space, H5S_SELECT_SET, start, NULL, count, NULL) < 0 ||
             H5Dread(table->dataset, type, memory, table->space, H5P_DEFAULT, values) < 0)
        status = cse_hdf5_failed(CSE_DATA, table->path, "read its values");
    H5Sclose(memory);
    cse_hdf5_restore(quiet);
    return status;
}

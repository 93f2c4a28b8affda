/* HDF5 finds the facts and the tensors; the elements are read past it, in parallel. */
#include "engine/formats/checkpoint/earlier_file.h"

#include <errno.h>
#include <fcntl.h>
#include <hdf5.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/arena.h"
#include "engine/base/confinement.h"
#include "engine/formats/checkpoint/checkpoint.h"
#include "engine/formats/checkpoint/digest.h"
#include "engine/formats/checkpoint/file_bytes.h"
#include "engine/formats/checkpoint/format.h"
#include "engine/formats/checkpoint/hdf5_driver.h"
#include "engine/formats/checkpoint/hdf5_library.h"
#include "engine/formats/checkpoint/parallel.h"
#include "engine/formats/checkpoint/seal.h"

enum { FORMAT_VERSION = 1, TEXT_LIMIT_BYTES = 60000, LEAST_BYTES_OF_AN_OBJECT = 64 };

/* Where a tensor's elements lie, and what their digest must be. */
typedef struct placed {
    uint64_t offset;
    const char *expected; /* NULL: none is stored */
    bool whole;
} placed;

/* The checkpoint that is being read, and its file. */
typedef struct reading {
    const char *path;
    int descriptor;
    hid_t file;
    uint64_t file_bytes;
    cse_arena *arena;
    cse_checkpoint *checkpoint;
    placed *places; /* of checkpoint->tensors */
    int capacity, place_capacity, place_count;
    cse_status status;
} reading;

/* A scalar attribute whose type in the file is `type`. */
static bool get_attribute(hid_t object, const char *name, hid_t type, void *value)
{
    if (H5Aexists(object, name) <= 0)
        return false;
    hid_t attribute = H5Aopen(object, name, H5P_DEFAULT);
    hid_t stored = H5Aget_type(attribute), space = H5Aget_space(attribute);
    bool good = H5Tequal(stored, type) > 0 && H5Sget_simple_extent_npoints(space) == 1 &&
                H5Aread(attribute, type, value) >= 0;
    H5Sclose(space);
    H5Tclose(stored);
    H5Aclose(attribute);
    return good;
}

/* A text attribute of fixed length, or NULL where there is none. */
static char *get_text(cse_arena *arena, hid_t object, const char *name)
{
    if (H5Aexists(object, name) <= 0)
        return NULL;
    char *text = NULL;
    hid_t attribute = H5Aopen(object, name, H5P_DEFAULT);
    hid_t type = H5Aget_type(attribute), space = H5Aget_space(attribute);
    size_t size = H5Tget_size(type);
    if (H5Tget_class(type) == H5T_STRING && H5Tis_variable_str(type) == 0 && size > 0 &&
        size <= TEXT_LIMIT_BYTES + 1 && H5Sget_simple_extent_npoints(space) == 1) {
        text = cse_arena_alloc(arena, size + 1);
        if (H5Aread(attribute, type, text) < 0)
            text = NULL;
    }
    H5Sclose(space);
    H5Tclose(type);
    H5Aclose(attribute);
    return text;
}

static cse_status get_facts(reading *read, int64_t *tensor_count)
{
    cse_checkpoint *checkpoint = read->checkpoint;
    int64_t version = 0;
    if (!get_attribute(read->file, "format_version", H5T_STD_I64LE, &version))
        return cse_fail(CSE_DATA, "%s: an HDF5 file, but not a checkpoint of csengine", read->path);
    if (version != FORMAT_VERSION)
        return cse_fail(CSE_DATA,
                        "%s: checkpoint format version %" PRId64 "; this program reads version %d",
                        read->path, version, FORMAT_VERSION);
    if (!get_attribute(read->file, "tensor_count", H5T_STD_I64LE, tensor_count) ||
        !get_attribute(read->file, "global_step", H5T_STD_I64LE, &checkpoint->global_step) ||
        !get_attribute(read->file, "seed", H5T_STD_U64LE, &checkpoint->seed) ||
        !get_attribute(read->file, "samples_seen", H5T_STD_I64LE, &checkpoint->samples_seen))
        return cse_fail(CSE_DATA,
                        "%s: tensor_count, global_step, seed or samples_seen is missing or has "
                        "another type",
                        read->path);
    checkpoint->model_name = get_text(read->arena, read->file, "model_name");
    checkpoint->config = get_text(read->arena, read->file, "config");
    checkpoint->kernels = get_text(read->arena, read->file, "kernels");
    checkpoint->origin = get_text(read->arena, read->file, "origin");
    checkpoint->data = get_text(read->arena, read->file, "data");
    checkpoint->links = get_text(read->arena, read->file, "links");
    return CSE_OK;
}

static cse_dtype dtype_of(hid_t type)
{
    cse_dtype found = CSE_DTYPE_COUNT;
    for (int dtype = 0; dtype < CSE_DTYPE_COUNT && found == CSE_DTYPE_COUNT; dtype++) {
        hid_t candidate = cse_hdf5_type_of((cse_dtype)dtype);
        if (H5Tequal(type, candidate) > 0)
            found = (cse_dtype)dtype;
        H5Tclose(candidate);
    }
    return found;
}

/* Reads rank and sizes; false for a dataspace that csengine does not write. */
static bool get_shape(hid_t space, cse_shape *shape)
{
    hsize_t sizes[CSE_MAX_RANK];
    H5S_class_t class = H5Sget_simple_extent_type(space);
    int rank = H5Sget_simple_extent_ndims(space);
    if ((class != H5S_SCALAR && class != H5S_SIMPLE) || rank < 0 || rank > CSE_MAX_RANK)
        return false;
    if (H5Sget_simple_extent_dims(space, sizes, NULL) < 0)
        return false;
    *shape = (cse_shape){ .rank = rank };
    for (int i = 0; i < rank; i++) {
        if (sizes[i] > INT64_MAX)
            return false;
        shape->dims[i] = (int64_t)sizes[i];
    }
    return true;
}

/* Bytes of the elements, or UINT64_MAX when they are more than `limit`. */
static uint64_t bytes_within(cse_shape shape, cse_dtype dtype, uint64_t limit)
{
    uint64_t bytes = cse_dtype_size(dtype);
    for (int i = 0; i < shape.rank; i++)
        if (shape.dims[i] == 0)
            return 0;
    for (int i = 0; i < shape.rank; i++)
        if (__builtin_mul_overflow(bytes, (uint64_t)shape.dims[i], &bytes))
            return UINT64_MAX;
    return bytes <= limit ? bytes : UINT64_MAX;
}

/* Whether the elements are one contiguous, unfiltered block inside the file. */
static bool is_plain(hid_t dataset, uint64_t bytes, uint64_t file_bytes)
{
    hid_t properties = H5Dget_create_plist(dataset);
    bool plain = H5Pget_layout(properties) == H5D_CONTIGUOUS &&
                 H5Pget_external_count(properties) == 0 && H5Pget_nfilters(properties) == 0;
    H5Pclose(properties);
    haddr_t offset = bytes > 0 ? H5Dget_offset(dataset) : 0;
    return plain && offset <= file_bytes && bytes <= file_bytes - offset;
}

/* Notes where the elements are and makes room for them; check_elements reads them. */
static void place_elements(reading *read, hid_t dataset, cse_checkpoint_tensor *tensor)
{
    uint64_t bytes = cse_checkpoint_tensor_bytes(tensor);
    tensor->data = cse_arena_alloc(read->arena, bytes + 1);
    CSE_GROW(read->places, read->place_count, read->place_capacity);
    read->places[read->place_count++] =
        (placed){ .offset = bytes > 0 ? H5Dget_offset(dataset) : 0,
                  .expected = get_text(read->arena, dataset, "blake2b") };
}

/* Reads one tensor's elements, from where HDF5 says they lie, and compares their digest. The type
 * is one of ours and the block is plain, so the bits in the file are the elements. */
static void check_one(void *self, int index)
{
    reading *read = self;
    placed *place = &read->places[index];
    const cse_checkpoint_tensor *tensor = &read->checkpoint->tensors[index];
    uint64_t bytes = cse_checkpoint_tensor_bytes(tensor);
    char digest[CSE_DIGEST_DIGITS + 1];
    place->whole = place->expected != NULL;
    if (place->whole) {
        /* The arena is this reading's own until it is returned. */
        void *data = (void *)(uintptr_t)tensor->data;
        place->whole = cse_read_at(read->descriptor, data, bytes, place->offset) == (int64_t)bytes;
        cse_checkpoint_tensor_digest(tensor, digest);
    }
    place->whole = place->whole && strcmp(place->expected, digest) == 0;
}

static cse_status check_elements(reading *read)
{
    cse_parallel_for(read->place_count, check_one, read);
    for (int i = 0; i < read->place_count; i++)
        if (!read->places[i].whole)
            return cse_fail(CSE_DATA,
                            "%s: tensor '%s' is damaged: its BLAKE2b digest does not match; use "
                            "another checkpoint",
                            read->path, read->checkpoint->tensors[i].name);
    return CSE_OK;
}

static cse_status get_tensor(reading *read, hid_t dataset, const char *name)
{
    cse_checkpoint_tensor tensor = { .name = cse_arena_string(read->arena, name) };
    hid_t type = H5Dget_type(dataset), space = H5Dget_space(dataset);
    tensor.dtype = dtype_of(type);
    cse_status status = CSE_OK;
    if (tensor.dtype == CSE_DTYPE_COUNT || !get_shape(space, &tensor.shape))
        status = cse_fail(CSE_DATA,
                          "%s: '%s' has a type or shape that csengine does not write (at most %d "
                          "dimensions)",
                          read->path, name, CSE_MAX_RANK);
    uint64_t bytes =
        status == CSE_OK ? bytes_within(tensor.shape, tensor.dtype, read->file_bytes) : UINT64_MAX;
    if (status == CSE_OK && (bytes == UINT64_MAX || !is_plain(dataset, bytes, read->file_bytes)))
        status = cse_fail(CSE_DATA, "%s: the elements of '%s' do not lie in one block of the file",
                          read->path, name);
    if (status == CSE_OK)
        place_elements(read, dataset, &tensor);
    H5Sclose(space);
    H5Tclose(type);
    cse_checkpoint *checkpoint = read->checkpoint;
    if (status == CSE_OK) {
        CSE_GROW(checkpoint->tensors, checkpoint->tensor_count, read->capacity);
        checkpoint->tensors[checkpoint->tensor_count++] = tensor;
    }
    return status;
}

/* Called by HDF5 for each link of the root, in name order; a positive result ends the walk. */
static herr_t visit_link(hid_t group, const char *name, const H5L_info_t *link, void *self)
{
    reading *read = self;
    read->status = CSE_DATA;
    hid_t object =
        link->type == H5L_TYPE_HARD ? H5Oopen(group, name, H5P_DEFAULT) : H5I_INVALID_HID;
    if (object < 0 || H5Iget_type(object) != H5I_DATASET)
        cse_fail(CSE_DATA, "%s: '%s' is no dataset", read->path, name);
    else
        read->status = get_tensor(read, object, name);
    if (object >= 0)
        H5Oclose(object);
    return read->status == CSE_OK ? 0 : 1;
}

static cse_status read_objects(reading *read)
{
    int64_t expected = 0;
    CSE_TRY(get_facts(read, &expected));
    H5G_info_t info;
    if (H5Gget_info(read->file, &info) < 0)
        return cse_hdf5_failed(CSE_DATA, read->path, "list the tensors");
    if (info.nlinks != (uint64_t)expected ||
        info.nlinks > read->file_bytes / LEAST_BYTES_OF_AN_OBJECT)
        return cse_fail(CSE_DATA, "%s: the number of tensors differs from its tensor_count",
                        read->path);
    if (H5Literate(read->file, H5_INDEX_NAME, H5_ITER_INC, NULL, visit_link, read) < 0)
        return cse_hdf5_failed(CSE_DATA, read->path, "list the tensors");
    if (read->status == CSE_OK && read->checkpoint->tensor_count != expected)
        return cse_fail(CSE_DATA, "%s: the number of tensors differs from its tensor_count",
                        read->path);
    return read->status;
}

static cse_status read_file(reading *read, int descriptor)
{
    CSE_TRY(cse_seal_verify_rest(descriptor, read->path));
    read->descriptor = descriptor;
    struct stat file_status;
    if (fstat(descriptor, &file_status) != 0)
        return cse_fail(CSE_IO, "%s: cannot be examined", read->path);
    read->file_bytes = (uint64_t)file_status.st_size;
    cse_hdf5_target target = { .descriptor = descriptor };
    cse_hdf5_quiet saved = cse_hdf5_silence();
    hid_t access = cse_hdf5_access_new(&target);
    read->file = H5Fopen(read->path, H5F_ACC_RDONLY, access);
    cse_status status = read->file >= 0 ? read_objects(read)
                                        : cse_hdf5_failed(CSE_DATA, read->path, "open the file");
    if (read->file >= 0)
        H5Fclose(read->file);
    H5Pclose(access);
    cse_hdf5_restore(saved);
    if (status == CSE_OK)
        status = check_elements(read);
    free(read->places);
    return status;
}

cse_status cse_checkpoint_load_earlier(const char *path, cse_checkpoint **checkpoint)
{
    *checkpoint = NULL;
    int descriptor = cse_confined_open(CSE_PATH_INPUT, path, O_RDONLY | O_NONBLOCK, 0);
    if (descriptor < 0)
        return cse_fail(errno == ENOENT || errno == ENOTDIR ? CSE_NO_INPUT : CSE_PERMISSION,
                        "%s: cannot be opened: %s", path, strerror(errno));
    cse_checkpoint_owned *owned = cse_checkpoint_owned_new();
    reading read = { .path = path, .arena = owned->arena, .checkpoint = &owned->checkpoint };
    *checkpoint = &owned->checkpoint;
    cse_status status = read_file(&read, descriptor);
    if (status != CSE_OK)
        cse_checkpoint_destroy(checkpoint);
    close(descriptor);
    return status;
}

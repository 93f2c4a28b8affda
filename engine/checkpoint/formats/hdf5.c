/* HDF5: one contiguous dataset for each dotted name, so that h5py shows f["model.fc.weight"].
 *
 * The facts about the run are attributes of the root; each dataset carries its type's name and its
 * BLAKE2b digest (digest.h). Elements are always copied as raw bits: HDF5's own conversion of
 * 16-bit floats is slow, and a checkpoint must not change a bit. The file uses only the format of
 * HDF5 1.8, which every reader supports; times are not stored, so that equal checkpoints are equal
 * files. A seal (seal.h) follows HDF5's bytes and is verified before HDF5 opens a file. The
 * elements are read past HDF5 and verified in parallel, each byte once.
 *
 * HDF5 keeps global state under one lock: do not save or load from several threads at once. */
#include <hdf5.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "engine/base/arena.h"
#include "engine/base/text.h"
#include "engine/checkpoint/checkpoint.h"
#include "engine/checkpoint/digest.h"
#include "engine/checkpoint/file_bytes.h"
#include "engine/checkpoint/format.h"
#include "engine/checkpoint/hdf5_driver.h"
#include "engine/checkpoint/parallel.h"
#include "engine/checkpoint/seal.h"
#include "engine/checkpoint/seal_rest.h"

enum {
    FORMAT_VERSION = 1,
    NAME_LIMIT_BYTES = 1024,
    /* HDF5 keeps an attribute in an object header message, which holds less than 64 KiB. */
    TEXT_LIMIT_BYTES = 60000,
    LEAST_BYTES_OF_AN_OBJECT = 64,
};

/* HDF5 prints its errors unless told not to; the process's own setting is restored afterwards. */
typedef struct quiet {
    H5E_auto2_t function;
    void *data;
} quiet;

static quiet silence(void)
{
    quiet saved = { NULL, NULL };
    H5Eget_auto2(H5E_DEFAULT, &saved.function, &saved.data);
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    return saved;
}

static void restore(quiet saved)
{
    H5Eset_auto2(H5E_DEFAULT, saved.function, saved.data);
}

static herr_t keep_first_description(unsigned index, const H5E_error2_t *error, void *description)
{
    if (index == 0 && error->desc != NULL)
        cse_text_add(description, "%s", error->desc);
    return 0;
}

/* Fails with HDF5's last error message. */
static cse_status hdf5_failed(cse_status status, const char *path, const char *what)
{
    cse_text description = { 0 };
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_first_description, &description);
    cse_fail(status, "%s: HDF5 cannot %s: %s", path, what,
             description.data != NULL ? description.data : "no reason given");
    cse_text_clear(&description);
    return status;
}

/* A little-endian float of 16 bits with `mantissa_bits` and `bias`; H5Tclose it. */
static hid_t small_float_type(size_t mantissa_bits, size_t bias)
{
    hid_t type = H5Tcopy(H5T_IEEE_F32LE);
    /* Fields first: they must fit into the type at every moment while its size shrinks. */
    H5Tset_fields(type, 15, mantissa_bits, 15 - mantissa_bits, 0, mantissa_bits);
    H5Tset_precision(type, 16);
    H5Tset_size(type, 2);
    H5Tset_ebias(type, bias);
    return type;
}

/* The enumeration that h5py shows as bool. */
static hid_t bool_type(void)
{
    hid_t type = H5Tenum_create(H5T_STD_I8LE);
    const signed char no = 0, yes = 1;
    H5Tenum_insert(type, "FALSE", &no);
    H5Tenum_insert(type, "TRUE", &yes);
    return type;
}

/* The HDF5 type of a tensor's elements; H5Tclose it. */
static hid_t type_of(cse_dtype dtype)
{
    switch (dtype) {
    case CSE_FLOAT32:
        return H5Tcopy(H5T_IEEE_F32LE);
    case CSE_BFLOAT16:
        return small_float_type(7, 127);
    case CSE_FLOAT16:
        return small_float_type(10, 15);
    case CSE_CBFLOAT16:
        return small_float_type(9, 31);
    case CSE_INT32:
        return H5Tcopy(H5T_STD_I32LE);
    case CSE_BOOL:
        return bool_type();
    case CSE_DTYPE_COUNT:
        break;
    }
    return H5I_INVALID_HID;
}

static bool put_attribute(hid_t object, const char *name, hid_t type, const void *value)
{
    hid_t space = H5Screate(H5S_SCALAR);
    hid_t attribute = H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    bool good = attribute >= 0 && H5Awrite(attribute, type, value) >= 0;
    if (attribute >= 0)
        good = H5Aclose(attribute) >= 0 && good;
    H5Sclose(space);
    return good;
}

/* No attribute is written for NULL. */
static bool put_text(hid_t object, const char *name, const char *text)
{
    if (text == NULL)
        return true;
    hid_t type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, strlen(text) + 1);
    H5Tset_cset(type, H5T_CSET_UTF8);
    bool good = put_attribute(object, name, type, text);
    H5Tclose(type);
    return good;
}

static bool put_facts(hid_t file, const cse_checkpoint *checkpoint)
{
    const int64_t version = FORMAT_VERSION, count = checkpoint->tensor_count;
    return put_attribute(file, "format_version", H5T_STD_I64LE, &version) &&
           put_attribute(file, "tensor_count", H5T_STD_I64LE, &count) &&
           put_attribute(file, "global_step", H5T_STD_I64LE, &checkpoint->global_step) &&
           put_attribute(file, "seed", H5T_STD_U64LE, &checkpoint->seed) &&
           put_attribute(file, "samples_seen", H5T_STD_I64LE, &checkpoint->samples_seen) &&
           put_text(file, "model_name", checkpoint->model_name) &&
           put_text(file, "config", checkpoint->config) &&
           put_text(file, "kernels", checkpoint->kernels) &&
           put_text(file, "data", checkpoint->data) && put_text(file, "links", checkpoint->links);
}

static hid_t space_of(cse_shape shape)
{
    hsize_t sizes[CSE_MAX_RANK];
    for (int i = 0; i < shape.rank; i++)
        sizes[i] = (hsize_t)shape.dims[i];
    return shape.rank == 0 ? H5Screate(H5S_SCALAR) : H5Screate_simple(shape.rank, sizes, NULL);
}

static hid_t dataset_properties(void)
{
    hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_layout(properties, H5D_CONTIGUOUS);
    H5Pset_alloc_time(properties, H5D_ALLOC_TIME_EARLY);
    H5Pset_fill_time(properties, H5D_FILL_TIME_NEVER);
    H5Pset_obj_track_times(properties, 0);
    return properties;
}

/* Writes one dataset and adds its line to the manifest. */
static bool put_tensor(hid_t file, const cse_checkpoint_tensor *tensor, const char *digest,
                       cse_text *manifest)
{
    hid_t properties = dataset_properties(), space = space_of(tensor->shape);
    hid_t type = type_of(tensor->dtype);
    hid_t dataset =
        H5Dcreate2(file, tensor->name, type, space, H5P_DEFAULT, properties, H5P_DEFAULT);
    bool good = dataset >= 0;
    if (good && cse_checkpoint_tensor_bytes(tensor) > 0)
        good = H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, tensor->data) >= 0;
    good = good && put_text(dataset, "dtype", cse_dtype_name(tensor->dtype)) &&
           put_text(dataset, "blake2b", digest);
    if (good) {
        haddr_t offset = H5Dget_offset(dataset);
        cse_seal_describe(manifest, tensor, offset == HADDR_UNDEF ? 0 : offset, digest);
    }
    if (dataset >= 0)
        good = H5Dclose(dataset) >= 0 && good;
    H5Tclose(type);
    H5Sclose(space);
    H5Pclose(properties);
    return good;
}

static cse_status check_tensor(const cse_checkpoint_tensor *tensor, const char *path)
{
    const char *name = tensor->name;
    size_t length = name != NULL ? strlen(name) : 0;
    bool good = length > 0 && length <= NAME_LIMIT_BYTES && strcmp(name, ".") != 0;
    for (size_t i = 0; good && i < length; i++)
        good = name[i] != '/' && (unsigned char)name[i] >= 32;
    if (!good)
        return cse_fail(CSE_DATA,
                        "%s: the name '%s' cannot be stored: a name has 1 to %d bytes, no '/' and "
                        "no control characters",
                        path, name != NULL ? name : "", NAME_LIMIT_BYTES);
    good = tensor->shape.rank >= 0 && tensor->shape.rank <= CSE_MAX_RANK &&
           (unsigned)tensor->dtype < CSE_DTYPE_COUNT;
    for (int i = 0; good && i < tensor->shape.rank; i++)
        good = tensor->shape.dims[i] >= 0;
    if (!good || (tensor->data == NULL && cse_checkpoint_tensor_bytes(tensor) > 0))
        return cse_fail(CSE_SHAPE, "%s: tensor '%s' has no valid type, shape or elements", path,
                        name);
    return CSE_OK;
}

static cse_status check_checkpoint(const cse_checkpoint *checkpoint, const char *path)
{
    for (int i = 0; i < checkpoint->tensor_count; i++)
        CSE_TRY(check_tensor(&checkpoint->tensors[i], path));
    if ((checkpoint->config != NULL && strlen(checkpoint->config) > TEXT_LIMIT_BYTES) ||
        (checkpoint->data != NULL && strlen(checkpoint->data) > TEXT_LIMIT_BYTES) ||
        (checkpoint->model_name != NULL && strlen(checkpoint->model_name) > TEXT_LIMIT_BYTES))
        return cse_fail(
            CSE_DATA,
            "%s: the configuration, the list of data files or the model's name has more "
            "than %d bytes, which "
            "an HDF5 attribute cannot hold",
            path, TEXT_LIMIT_BYTES);
    const char *repeated = NULL;
    int *order = cse_checkpoint_name_order(checkpoint);
    for (int i = 1; i < checkpoint->tensor_count && repeated == NULL; i++)
        if (strcmp(checkpoint->tensors[order[i - 1]].name, checkpoint->tensors[order[i]].name) == 0)
            repeated = checkpoint->tensors[order[i]].name;
    free(order);
    if (repeated != NULL)
        return cse_fail(CSE_DATA, "%s: two tensors have the name '%s'", path, repeated);
    return CSE_OK;
}

/* One tensor's digest, computed beside the others'. */
typedef struct digesting {
    const cse_checkpoint *checkpoint;
    char (*digests)[CSE_DIGEST_DIGITS + 1];
} digesting;

static void digest_one(void *self, int index)
{
    digesting *all = self;
    cse_checkpoint_tensor_digest(&all->checkpoint->tensors[index], all->digests[index]);
}

static cse_status write_objects(const cse_checkpoint *checkpoint, cse_hdf5_target *target,
                                const char *path, cse_text *manifest)
{
    hid_t access = cse_hdf5_access_new(target);
    hid_t creation = H5Pcreate(H5P_FILE_CREATE);
    H5Pset_obj_track_times(creation, 0);
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, creation, access);
    cse_status status = file >= 0 ? CSE_OK : hdf5_failed(CSE_IO, path, "create the file");
    if (status == CSE_OK && !put_facts(file, checkpoint))
        status = hdf5_failed(CSE_IO, path, "write the facts about the run");
    int *order = cse_checkpoint_name_order(checkpoint);
    digesting all = { checkpoint,
                      cse_calloc((size_t)checkpoint->tensor_count + 1, sizeof *all.digests) };
    cse_parallel_for(checkpoint->tensor_count, digest_one, &all);
    for (int i = 0; i < checkpoint->tensor_count && status == CSE_OK && target->error == 0; i++) {
        const cse_checkpoint_tensor *tensor = &checkpoint->tensors[order[i]];
        if (!put_tensor(file, tensor, all.digests[order[i]], manifest))
            status = hdf5_failed(CSE_IO, path, tensor->name);
    }
    free(all.digests);
    free(order);
    if (file >= 0) {
        H5Fflush(file, H5F_SCOPE_GLOBAL);
        if (H5Fclose(file) < 0 && status == CSE_OK)
            status = hdf5_failed(CSE_IO, path, "close the file");
    }
    H5Pclose(creation);
    H5Pclose(access);
    if (target->error != 0)
        return cse_fail(CSE_IO, "%s: cannot be written: %s", path, strerror(target->error));
    return status;
}

static cse_status hdf5_write(const cse_checkpoint *checkpoint, int descriptor, const char *path)
{
    CSE_TRY(check_checkpoint(checkpoint, path));
    cse_hdf5_target target = { .descriptor = descriptor };
    cse_text manifest = { 0 };
    quiet saved = silence();
    cse_status status = write_objects(checkpoint, &target, path, &manifest);
    restore(saved);
    if (status == CSE_OK)
        status = cse_seal_append(descriptor, &manifest, path);
    cse_text_clear(&manifest);
    return status;
}

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
    bool keep; /* false: the elements are verified in blocks and not returned */
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
    checkpoint->data = get_text(read->arena, read->file, "data");
    checkpoint->links = get_text(read->arena, read->file, "links");
    return CSE_OK;
}

static cse_dtype dtype_of(hid_t type)
{
    cse_dtype found = CSE_DTYPE_COUNT;
    for (int dtype = 0; dtype < CSE_DTYPE_COUNT && found == CSE_DTYPE_COUNT; dtype++) {
        hid_t candidate = type_of((cse_dtype)dtype);
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
    if (read->keep)
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
    if (place->whole && read->keep) {
        /* The arena is this reading's own until it is returned. */
        void *data = (void *)(uintptr_t)tensor->data;
        place->whole = cse_read_at(read->descriptor, data, bytes, place->offset) == (int64_t)bytes;
        cse_checkpoint_tensor_digest(tensor, digest);
    } else if (place->whole) {
        crypto_generichash_state hash;
        cse_checkpoint_digest_head(&hash, tensor);
        place->whole = cse_hash_file_range(&hash, read->descriptor, place->offset, bytes);
        cse_digest_end(&hash, digest);
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
        return hdf5_failed(CSE_DATA, read->path, "list the tensors");
    if (info.nlinks != (uint64_t)expected ||
        info.nlinks > read->file_bytes / LEAST_BYTES_OF_AN_OBJECT)
        return cse_fail(CSE_DATA, "%s: the number of tensors differs from its tensor_count",
                        read->path);
    if (H5Literate(read->file, H5_INDEX_NAME, H5_ITER_INC, NULL, visit_link, read) < 0)
        return hdf5_failed(CSE_DATA, read->path, "list the tensors");
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
    quiet saved = silence();
    hid_t access = cse_hdf5_access_new(&target);
    read->file = H5Fopen(read->path, H5F_ACC_RDONLY, access);
    cse_status status =
        read->file >= 0 ? read_objects(read) : hdf5_failed(CSE_DATA, read->path, "open the file");
    if (read->file >= 0)
        H5Fclose(read->file);
    H5Pclose(access);
    restore(saved);
    if (status == CSE_OK)
        status = check_elements(read);
    free(read->places);
    return status;
}

static cse_status hdf5_read(int descriptor, const char *path, cse_checkpoint **checkpoint)
{
    cse_checkpoint_owned *owned = cse_checkpoint_owned_new();
    reading read = { .path = path, .keep = true, .arena = owned->arena };
    read.checkpoint = &owned->checkpoint;
    *checkpoint = &owned->checkpoint;
    cse_status status = read_file(&read, descriptor);
    if (status != CSE_OK)
        cse_checkpoint_destroy(checkpoint);
    return status;
}

static cse_status hdf5_verify(int descriptor, const char *path)
{
    cse_checkpoint_owned *owned = cse_checkpoint_owned_new();
    reading read = { .path = path, .keep = false, .arena = owned->arena };
    read.checkpoint = &owned->checkpoint;
    cse_status status = read_file(&read, descriptor);
    cse_checkpoint *checkpoint = &owned->checkpoint;
    cse_checkpoint_destroy(&checkpoint);
    return status;
}

const cse_checkpoint_format cse_format_hdf5 = {
    .name = "hdf5",
    .summary = "one HDF5 dataset for each dotted name; what training writes",
    .extension = ".mdl",
    .signature = "\x89HDF\r\n\x1a\n",
    .signature_bytes = 8,
    .write = hdf5_write,
    .verify = hdf5_verify,
    .read = hdf5_read,
};

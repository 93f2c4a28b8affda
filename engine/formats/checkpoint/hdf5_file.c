/* HDF5: one contiguous dataset for each dotted name, so that h5py shows f["model.fc.weight"].
 *
 * The facts about the run are attributes of the root; each dataset carries its type's name and its
 * BLAKE2b digest (digest.h). Elements are written past HDF5 as raw bits, hashed on the way
 * (elements.h): its own conversion of 16-bit floats is slow, and a checkpoint must not change a
 * bit. The file uses only the format of HDF5 1.8, which every reader supports; times are not
 * stored, so that equal checkpoints are equal files. A seal (seal.h) follows HDF5's bytes.
 *
 * HDF5 keeps global state under one lock: do not save from several threads at once. */
#include "engine/formats/checkpoint/hdf5_file.h"

#include <hdf5.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"
#include "engine/base/text.h"
#include "engine/formats/checkpoint/checkpoint.h"
#include "engine/formats/checkpoint/digest.h"
#include "engine/formats/checkpoint/elements.h"
#include "engine/formats/checkpoint/facts.h"
#include "engine/formats/checkpoint/hdf5_driver.h"
#include "engine/formats/checkpoint/hdf5_library.h"
#include "engine/formats/checkpoint/names.h"
#include "engine/formats/checkpoint/seal.h"

enum {
    FORMAT_VERSION = 1,
    /* HDF5 keeps an attribute in an object header message, which holds less than 64 KiB. */
    TEXT_LIMIT_BYTES = 60000,
};

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
           put_text(file, "data", checkpoint->data) &&
           put_text(file, "origin", checkpoint->origin) &&
           put_text(file, "links", checkpoint->links) && put_text(file, "chain", checkpoint->chain);
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

/* Makes a tensor's dataset, whose place in the file is fixed at once; negative on failure. */
static hid_t make_dataset(hid_t file, const cse_checkpoint_tensor *tensor, uint64_t *offset)
{
    hid_t properties = dataset_properties(), space = space_of(tensor->shape);
    hid_t type = cse_hdf5_type_of(tensor->dtype);
    hid_t dataset =
        H5Dcreate2(file, tensor->name, type, space, H5P_DEFAULT, properties, H5P_DEFAULT);
    const haddr_t address = dataset >= 0 ? H5Dget_offset(dataset) : HADDR_UNDEF;
    *offset = address == HADDR_UNDEF ? 0 : address;
    H5Tclose(type);
    H5Sclose(space);
    H5Pclose(properties);
    if (dataset >= 0 && address == HADDR_UNDEF && cse_checkpoint_tensor_bytes(tensor) > 0) {
        H5Dclose(dataset);
        return H5I_INVALID_HID;
    }
    return dataset;
}

static cse_status check_tensor(const cse_checkpoint_tensor *tensor, const char *path)
{
    const char *name = tensor->name;
    if (!cse_checkpoint_name_is_good(name))
        return cse_fail(CSE_DATA,
                        "%s: the name '%s' cannot be stored: a name has 1 to %d bytes, no '/' and "
                        "no control characters",
                        path, name != NULL ? name : "", CSE_CHECKPOINT_NAME_BYTES);
    bool good = tensor->shape.rank >= 0 && tensor->shape.rank <= CSE_MAX_RANK &&
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
    const char *repeated = cse_checkpoint_repeated_name(checkpoint);
    if (repeated != NULL)
        return cse_fail(CSE_DATA, "%s: two tensors have the name '%s'", path, repeated);
    return CSE_OK;
}

/* The datasets of a file, in the order of the tensors' names. */
typedef struct objects {
    const cse_checkpoint *checkpoint;
    hid_t file;
    hid_t *datasets;
    int *order, made;
    cse_element_place *places; /* of checkpoint->tensors */
} objects;

static bool make_datasets(objects *o)
{
    for (; o->made < o->checkpoint->tensor_count; o->made++) {
        const int i = o->order[o->made];
        o->datasets[o->made] =
            make_dataset(o->file, &o->checkpoint->tensors[i], &o->places[i].offset);
        if (o->datasets[o->made] < 0)
            return false;
    }
    return true;
}

/* What is known only when the elements are hashed, and the lines of the seal. */
static bool describe_datasets(const objects *o, cse_text *manifest)
{
    for (int k = 0; k < o->made; k++) {
        const cse_checkpoint_tensor *tensor = &o->checkpoint->tensors[o->order[k]];
        const cse_element_place *place = &o->places[o->order[k]];
        if (!put_text(o->datasets[k], "dtype", cse_dtype_name(tensor->dtype)) ||
            !put_text(o->datasets[k], "blake2b", place->digest))
            return false;
        cse_seal_describe(manifest, tensor, place->offset, place->digest);
    }
    return true;
}

static cse_status write_objects(objects *o, const cse_format_target *to, cse_hdf5_target *target,
                                cse_text *manifest)
{
    if (o->file < 0)
        return cse_hdf5_failed(CSE_IO, to->path, "create the file");
    if (!put_facts(o->file, o->checkpoint))
        return cse_hdf5_failed(CSE_IO, to->path, "write the facts about the run");
    if (!make_datasets(o))
        return cse_hdf5_failed(CSE_IO, to->path, "make the data sets");
    target->error = cse_elements_write(o->checkpoint, to->descriptor, o->places, to->digest);
    if (target->error == 0 && !describe_datasets(o, manifest))
        return cse_hdf5_failed(CSE_IO, to->path, "describe the data sets");
    return CSE_OK;
}

static cse_status write_library_s_part(const cse_checkpoint *checkpoint,
                                       const cse_format_target *to, cse_text *manifest)
{
    cse_hdf5_target target = { .descriptor = to->descriptor };
    const size_t room = (size_t)checkpoint->tensor_count + 1;
    hid_t access = cse_hdf5_access_new(&target), creation = H5Pcreate(H5P_FILE_CREATE);
    H5Pset_obj_track_times(creation, 0);
    objects o = { .checkpoint = checkpoint,
                  .file = H5Fcreate(to->path, H5F_ACC_TRUNC, creation, access),
                  .datasets = cse_calloc(room, sizeof *o.datasets),
                  .order = cse_checkpoint_name_order(checkpoint),
                  .places = cse_calloc(room, sizeof *o.places) };
    cse_status status = write_objects(&o, to, &target, manifest);
    for (int k = 0; k < o.made; k++)
        if (H5Dclose(o.datasets[k]) < 0 && status == CSE_OK)
            status = cse_hdf5_failed(CSE_IO, to->path, "close a data set");
    if (o.file >= 0) {
        H5Fflush(o.file, H5F_SCOPE_GLOBAL);
        if (H5Fclose(o.file) < 0 && status == CSE_OK)
            status = cse_hdf5_failed(CSE_IO, to->path, "close the file");
    }
    free(o.datasets);
    free(o.order);
    free(o.places);
    H5Pclose(creation);
    H5Pclose(access);
    if (target.error != 0)
        return cse_fail(CSE_IO, "%s: cannot be written: %s", to->path, strerror(target.error));
    return status;
}

cse_status cse_hdf5_file_write(const cse_checkpoint *checkpoint, const cse_format_target *to)
{
    CSE_TRY(check_checkpoint(checkpoint, to->path));
    cse_text manifest = { 0 };
    cse_hdf5_quiet saved = cse_hdf5_silence();
    cse_status status = write_library_s_part(checkpoint, to, &manifest);
    cse_hdf5_restore(saved);
    if (status == CSE_OK) {
        cse_text_add(&manifest, "\n");
        cse_facts_print(checkpoint, &manifest);
        status = cse_seal_append(to->descriptor, &manifest, to->path);
    }
    cse_text_clear(&manifest);
    return status;
}

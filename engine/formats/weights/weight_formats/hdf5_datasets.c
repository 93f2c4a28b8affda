/* Any HDF5 file whose datasets are weights: as h5py writes and edits them, with or without
 * groups, and as cstorch keeps its checkpoints (names quoted as in addresses, bfloat16 as integers
 * that say so). Elements that lie in one block are read past HDF5, others by it. Data in other
 * files are refused.
 *
 * The library is not made for hostile files: it is called in a process of its own (apart.h). */
#include "engine/formats/weights/weight_formats/hdf5_datasets.h"

#include <hdf5.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/text.h"
#include "engine/formats/checkpoint/hdf5_chunks.h"
#include "engine/formats/checkpoint/hdf5_driver.h"
#include "engine/formats/checkpoint/hdf5_library.h"
#include "engine/formats/weights/apart.h"
#include "engine/formats/weights/weight_formats/lz4_filter.h"

enum { MOST_DEPTH = 16 };

static const char prefix[] = "model.";

/* ---- types ---- */

static cse_element float_of(hid_t type)
{
    size_t sign, exponent_at, exponent, mantissa_at, mantissa;
    H5Tget_fields(type, &sign, &exponent_at, &exponent, &mantissa_at, &mantissa);
    const size_t bytes = H5Tget_size(type), bias = H5Tget_ebias(type);
    if (bytes == 4 && exponent == 8 && mantissa == 23 && bias == 127)
        return CSE_ELEMENT_F32;
    if (bytes == 8 && exponent == 11 && mantissa == 52 && bias == 1023)
        return CSE_ELEMENT_F64;
    if (bytes == 2 && exponent == 8 && mantissa == 7 && bias == 127)
        return CSE_ELEMENT_BF16;
    if (bytes == 2 && exponent == 6 && mantissa == 9 && bias == 31)
        return CSE_ELEMENT_CBF16;
    return bytes == 2 && exponent == 5 && mantissa == 10 && bias == 15 ? CSE_ELEMENT_F16
                                                                       : CSE_ELEMENT_COUNT;
}

static cse_element integer_of(hid_t type)
{
    const bool is_signed = H5Tget_sign(type) == H5T_SGN_2;
    switch (H5Tget_size(type)) {
    case 1:
        return is_signed ? CSE_ELEMENT_I8 : CSE_ELEMENT_U8;
    case 2:
        return CSE_ELEMENT_I16; /* also what cstorch keeps bfloat16 in */
    case 4:
        return is_signed ? CSE_ELEMENT_I32 : CSE_ELEMENT_COUNT;
    case 8:
        return is_signed ? CSE_ELEMENT_I64 : CSE_ELEMENT_COUNT;
    default:
        return CSE_ELEMENT_COUNT;
    }
}

/* CSE_ELEMENT_COUNT: none of ours, as texts and references. */
static cse_element element_of(hid_t type)
{
    const H5T_class_t class = H5Tget_class(type);
    if (class == H5T_ENUM)
        return H5Tget_size(type) == 1 ? CSE_ELEMENT_BOOL : CSE_ELEMENT_COUNT;
    if ((class != H5T_FLOAT && class != H5T_INTEGER) ||
        (H5Tget_size(type) > 1 && H5Tget_order(type) != H5T_ORDER_LE))
        return CSE_ELEMENT_COUNT;
    return class == H5T_FLOAT ? float_of(type) : integer_of(type);
}

/* ---- reading ---- */

/* The open file: what lies in pieces is read by the library. */
typedef struct open_file {
    cse_hdf5_target target;
    hid_t file;
    const char **names; /* of the datasets, for each weight */
    int capacity;
    int kept; /* the weight that was read last; -1: none */
    unsigned char *elements;
} open_file;

typedef struct walk {
    cse_weights *weights;
    open_file *self;
    int file;
    bool is_cstorch, is_checkpoint, all;
    cse_status status;
} walk;

static bool has_attribute(hid_t object, const char *name)
{
    return H5Aexists(object, name) > 0;
}

static int hex(char digit)
{
    return digit >= '0' && digit <= '9'   ? digit - '0'
           : digit >= 'a' && digit <= 'f' ? digit - 'a' + 10
           : digit >= 'A' && digit <= 'F' ? digit - 'A' + 10
                                          : -1;
}

/* Dots between groups; in a file of cstorch %2E is a dot. */
static char *plain_name(const walk *w, const char *path)
{
    char *name = cse_arena_string(w->weights->arena, path), *out = name;
    for (const char *at = path; *at != '\0'; at++) {
        if (*at == '/') {
            *out++ = '.';
        } else if (*at == '%' && w->is_cstorch && hex(at[1]) >= 0 && hex(at[2]) >= 0) {
            *out++ = (char)(hex(at[1]) * 16 + hex(at[2]));
            at += 2;
        } else {
            *out++ = *at;
        }
    }
    *out = '\0';
    return name;
}

static cse_status read_shape(const walk *w, const char *name, hid_t space, cse_shape *shape)
{
    hsize_t sizes[H5S_MAX_RANK];
    const int rank = H5Sget_simple_extent_ndims(space);
    if (rank < 0 || rank > CSE_MAX_RANK || H5Sget_simple_extent_dims(space, sizes, NULL) < 0)
        return cse_fail(CSE_DATA, "%s: '%s' has more than %d dimensions", w->weights->path, name,
                        CSE_MAX_RANK);
    *shape = (cse_shape){ .rank = rank };
    for (int i = 0; i < rank; i++) {
        if (sizes[i] > INT64_MAX)
            return cse_fail(CSE_DATA, "%s: '%s' has a size that no file can have", w->weights->path,
                            name);
        shape->dims[i] = (int64_t)sizes[i];
    }
    return CSE_OK;
}

/* Where elements lie: in one block of the file, or in pieces, all of whose filters are there. */
static cse_status place(const walk *w, hid_t dataset, cse_weight *weight)
{
    hid_t properties = H5Dget_create_plist(dataset);
    const H5D_layout_t layout = H5Pget_layout(properties);
    const int filters = H5Pget_nfilters(properties);
    cse_status status = CSE_OK;
    if (layout == H5D_VIRTUAL || H5Pget_external_count(properties) != 0)
        status = cse_fail(CSE_DATA, "%s: the elements of '%s' are in another file",
                          w->weights->path, weight->name);
    for (int i = 0; i < filters && status == CSE_OK; i++) {
        unsigned flags = 0, settings = 0;
        char name[64] = "";
        size_t count = 0;
        const H5Z_filter_t filter = H5Pget_filter2(properties, (unsigned)i, &flags, &count, NULL,
                                                   sizeof name, name, &settings);
        if (!cse_hdf5_filter_is_known(filter))
            status = cse_fail(CSE_DATA,
                              "%s: '%s' is compressed by the filter %d (%s), which is not known "
                              "here; accepted: gzip, shuffle, fletcher32, LZ4, or none (`h5repack "
                              "-f NONE` writes it so)",
                              w->weights->path, weight->name, (int)filter, name);
    }
    const haddr_t at = layout == H5D_CONTIGUOUS ? H5Dget_offset(dataset) : HADDR_UNDEF;
    weight->file = at != HADDR_UNDEF && filters == 0 ? w->file : -1;
    weight->offset = weight->file >= 0 ? at : 0;
    H5Pclose(properties);
    return status;
}

static cse_status add_dataset(walk *w, hid_t dataset, const char *path)
{
    cse_weights *weights = w->weights;
    open_file *self = w->self;
    hid_t type = H5Dget_type(dataset), space = H5Dget_space(dataset);
    cse_weight weight = { .name = plain_name(w, path), .element = element_of(type) };
    const bool is_empty = H5Sget_simple_extent_type(space) == H5S_NULL;
    const bool is_parameter = strncmp(weight.name, prefix, sizeof prefix - 1) == 0;
    cse_status status = CSE_OK;
    if (weight.element == CSE_ELEMENT_I16 && has_attribute(dataset, "is_bfloat16"))
        weight.element = CSE_ELEMENT_BF16;
    const bool skips = weight.element == CSE_ELEMENT_COUNT || is_empty ||
                       (w->is_checkpoint && !w->all && !is_parameter);
    if (!skips)
        status = read_shape(w, weight.name, space, &weight.shape);
    if (!skips && status == CSE_OK)
        status = place(w, dataset, &weight);
    H5Sclose(space);
    H5Tclose(type);
    if (skips || status != CSE_OK)
        return status;
    if (w->is_checkpoint && !w->all)
        weight.name += sizeof prefix - 1;
    CSE_GROW(self->names, weights->count, self->capacity);
    self->names[weights->count] = cse_arena_string(weights->arena, path);
    return cse_weights_add(weights, &weight);
}

/* Called by HDF5 for each object; a positive result ends the walk. */
static herr_t visit(hid_t file, const char *path, const H5O_info_t *info, void *self)
{
    walk *w = self;
    int depth = 0;
    for (const char *at = path; *at != '\0'; at++)
        depth += *at == '/';
    if (depth > MOST_DEPTH)
        w->status = cse_fail(CSE_DATA, "%s: groups are in each other more than %d deep",
                             w->weights->path, MOST_DEPTH);
    if (depth > MOST_DEPTH || info->type != H5O_TYPE_DATASET)
        return depth > MOST_DEPTH;
    hid_t dataset = H5Dopen2(file, path, H5P_DEFAULT);
    w->status = dataset >= 0 ? add_dataset(w, dataset, path)
                             : cse_hdf5_failed(CSE_DATA, w->weights->path, "open a dataset");
    if (dataset >= 0)
        H5Dclose(dataset);
    return w->status != CSE_OK;
}

/* Whether the pieces of a dataset have the bytes that its elements need. */
static cse_status check_pieces(const cse_weights *weights, int index, hid_t dataset, hid_t type)
{
    const cse_weight *weight = &weights->list[index];
    cse_hdf5_chunks chunks = { 0 };
    hsize_t start[CSE_MAX_RANK] = { 0 }, count[CSE_MAX_RANK];
    cse_status status = CSE_OK;
    for (int i = 0; i < weight->shape.rank; i++)
        count[i] = (hsize_t)weight->shape.dims[i];
    if (!cse_hdf5_chunks_begin(&chunks, dataset, weight->shape.rank, count, H5Tget_size(type)))
        status = cse_fail(CSE_DATA,
                          "%s: '%s' is in chunks of a form that is not accepted: write it with "
                          "gzip, shuffle, fletcher32 or LZ4, or without filters",
                          weights->path, weight->name);
    else if (!cse_hdf5_chunks_fit(&chunks, start, count))
        status = cse_fail(CSE_DATA,
                          "%s: '%s' has a chunk that is damaged: it has not the bytes of its "
                          "elements",
                          weights->path, weight->name);
    cse_hdf5_chunks_clear(&chunks);
    return status;
}

static cse_status read_pieces(cse_weights *weights, int index, unsigned char *to)
{
    const open_file *self = weights->self;
    hid_t dataset = cse_hdf5_dataset_open(self->file, self->names[index]);
    if (dataset < 0)
        return cse_hdf5_failed(CSE_DATA, weights->path, "open a dataset");
    hid_t type = H5Dget_type(dataset);
    cse_status status = check_pieces(weights, index, dataset, type);
    if (status == CSE_OK && H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, to) < 0)
        status = cse_hdf5_failed(CSE_DATA, weights->path, "read the elements of a weight");
    H5Tclose(type);
    H5Dclose(dataset);
    return status;
}

static cse_status read_weight(cse_weights *weights, int index, uint64_t first, size_t bytes,
                              void *to)
{
    open_file *self = weights->self;
    const uint64_t all = cse_weight_bytes(&weights->list[index]);
    if (self->kept != index) {
        free(self->elements);
        self->elements = cse_calloc(all + 1, 1);
        self->kept = -1;
        cse_hdf5_quiet saved = cse_hdf5_silence();
        cse_status status = read_pieces(weights, index, self->elements);
        cse_hdf5_restore(saved);
        CSE_TRY(status);
        self->kept = index;
    }
    memcpy(to, self->elements + first, bytes);
    return CSE_OK;
}

static void close_file(cse_weights *weights)
{
    open_file *self = weights->self;
    cse_hdf5_quiet saved = cse_hdf5_silence();
    if (self->file >= 0)
        H5Fclose(self->file);
    cse_hdf5_restore(saved);
    free(self->names);
    free(self->elements);
}

static cse_status walk_file(walk *w)
{
    const hid_t file = w->self->file;
    w->is_cstorch = has_attribute(file, "__spec__");
    w->is_checkpoint = w->is_cstorch || has_attribute(file, "global_step");
    if (has_attribute(file, "__cstorch_version__") && has_attribute(file, "__metadata__") &&
        !has_attribute(file, "__SUCCESS__"))
        return cse_fail(CSE_DATA, "%s: was not written to its end: __SUCCESS__ is missing",
                        w->weights->path);
    if (H5Ovisit2(file, H5_INDEX_NAME, H5_ITER_INC, visit, w, H5O_INFO_BASIC) < 0)
        return cse_hdf5_failed(CSE_DATA, w->weights->path, "list the datasets");
    if (w->status == CSE_OK && w->weights->count == 0)
        return cse_fail(CSE_DATA, "%s: holds no datasets of numbers", w->weights->path);
    return w->status;
}

/* In the process that reads. */
static cse_status open_datasets(cse_weights *weights, int file, const cse_weights_options *options)
{
    open_file *self = cse_arena_alloc(weights->arena, sizeof *self);
    walk w = { .weights = weights, .self = self, .file = file, .all = options->all };
    self->target.descriptor = weights->files[file].descriptor;
    self->kept = -1;
    weights->self = self;
    weights->read = read_weight;
    weights->close = close_file;
    cse_hdf5_quiet saved = cse_hdf5_silence();
    H5PLset_loading_state(0); /* no filters from shared objects */
    cse_lz4_filter_register();
    hid_t access = cse_hdf5_access_new(&self->target);
    self->file = H5Fopen(weights->path, H5F_ACC_RDONLY, access);
    cse_status status =
        self->file >= 0 ? walk_file(&w) : cse_hdf5_failed(CSE_DATA, weights->path, "open the file");
    H5Pclose(access);
    cse_hdf5_restore(saved);
    return status;
}

cse_status cse_hdf5_datasets_open(cse_weights *weights, int file,
                                  const cse_weights_options *options)
{
    return cse_weights_open_apart(weights, file, options, open_datasets);
}

/* ---- writing ---- */

static hid_t type_of(cse_element element)
{
    switch (element) {
    case CSE_ELEMENT_F64:
        return H5Tcopy(H5T_IEEE_F64LE);
    case CSE_ELEMENT_I64:
        return H5Tcopy(H5T_STD_I64LE);
    case CSE_ELEMENT_I16:
        return H5Tcopy(H5T_STD_I16LE);
    case CSE_ELEMENT_I8:
        return H5Tcopy(H5T_STD_I8LE);
    case CSE_ELEMENT_U8:
        return H5Tcopy(H5T_STD_U8LE);
    default:
        return cse_hdf5_type_of(cse_element_dtype(element));
    }
}

static cse_status make_dataset(hid_t file, const cse_weights_target *to, const cse_weight *weight,
                               uint64_t *offset)
{
    hsize_t sizes[CSE_MAX_RANK];
    for (int i = 0; i < weight->shape.rank; i++)
        sizes[i] = (hsize_t)weight->shape.dims[i];
    hid_t properties = H5Pcreate(H5P_DATASET_CREATE), type = type_of(weight->element);
    hid_t space = weight->shape.rank == 0 ? H5Screate(H5S_SCALAR)
                                          : H5Screate_simple(weight->shape.rank, sizes, NULL);
    H5Pset_layout(properties, H5D_CONTIGUOUS);
    H5Pset_alloc_time(properties, H5D_ALLOC_TIME_EARLY);
    H5Pset_fill_time(properties, H5D_FILL_TIME_NEVER);
    H5Pset_obj_track_times(properties, 0);
    hid_t dataset =
        H5Dcreate2(file, weight->name, type, space, H5P_DEFAULT, properties, H5P_DEFAULT);
    const haddr_t at = dataset >= 0 ? H5Dget_offset(dataset) : HADDR_UNDEF;
    *offset = at == HADDR_UNDEF ? 0 : at;
    const bool good = dataset >= 0 && (at != HADDR_UNDEF || cse_weight_bytes(weight) == 0) &&
                      H5Dclose(dataset) >= 0;
    H5Tclose(type);
    H5Sclose(space);
    H5Pclose(properties);
    return good ? CSE_OK : cse_hdf5_failed(CSE_IO, to->path, "make a dataset");
}

static cse_status check_names(const cse_weights *from, const cse_weights_target *to)
{
    for (int i = 0; i < from->count; i++)
        if (strchr(from->list[i].name, '/') != NULL || strcmp(from->list[i].name, ".") == 0)
            return cse_fail(CSE_DATA, "%s: '%s' cannot be the name of a dataset", to->path,
                            from->list[i].name);
    return CSE_OK;
}

/* All datasets are made before an element is written: then the library has done its part. */
cse_status cse_hdf5_datasets_write(cse_weights *from, const cse_weights_target *to)
{
    CSE_TRY(check_names(from, to));
    int *order = cse_weights_name_order(from);
    uint64_t *offsets = cse_calloc((size_t)from->count + 1, sizeof *offsets);
    cse_hdf5_target target = { .descriptor = to->descriptor };
    cse_hdf5_quiet saved = cse_hdf5_silence();
    hid_t access = cse_hdf5_access_new(&target), creation = H5Pcreate(H5P_FILE_CREATE);
    H5Pset_obj_track_times(creation, 0);
    hid_t file = H5Fcreate(to->path, H5F_ACC_TRUNC, creation, access);
    cse_status status = file >= 0 ? CSE_OK : cse_hdf5_failed(CSE_IO, to->path, "create the file");
    for (int i = 0; i < from->count && status == CSE_OK; i++)
        status = make_dataset(file, to, &from->list[order[i]], &offsets[i]);
    if (file >= 0 && H5Fclose(file) < 0 && status == CSE_OK)
        status = cse_hdf5_failed(CSE_IO, to->path, "close the file");
    H5Pclose(creation);
    H5Pclose(access);
    cse_hdf5_restore(saved);
    if (target.error != 0)
        status = cse_fail(CSE_IO, "%s: cannot be written: %s", to->path, strerror(target.error));
    for (int i = 0; i < from->count && status == CSE_OK; i++)
        status = cse_weights_put(from, order[i], to, offsets[i], NULL);
    free(offsets);
    free(order);
    return status;
}

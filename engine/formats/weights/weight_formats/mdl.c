/* mdl: a checkpoint of ours. The parameters of its model are the weights; each is compared with its
 * digest when it is read. Written, it is one at step 0, from which any run of that model goes on
 * with a fresh optimizer.
 *
 * A checkpoint is written from memory. The elements are put into a file without a name first, which
 * is mapped: pages of it are written and dropped as the kernel likes, so that memory does not limit
 * the size of the weights. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "engine/base/config/average_settings.h"
#include "engine/base/types/packed/packed_rows.h"
#include "engine/base/types/shape.h"
#include "engine/formats/checkpoint/checkpoint.h"
#include "engine/formats/checkpoint/seal.h"
#include "engine/formats/checkpoint/sealed_file.h"
#include "engine/formats/weights/format.h"

static const char prefix[] = "model.";

static bool begins(const cse_weights_file *file, const unsigned char *start, size_t bytes)
{
    return bytes >= 8 && memcmp(start, "\x89HDF\r\n\x1a\n", 8) == 0 &&
           cse_seal_is_at_end(file->descriptor, file->bytes);
}

/* ---- reading ---- */

typedef struct ours {
    cse_sealed_reader *reader;
    int *tensors; /* of the checkpoint, for each weight */
    /* The weight of which a part was read last, as it is stored: the digest is that of the whole,
     * which is kept for the next part. */
    int kept;
    unsigned char *stored;
} ours;

static cse_status keep(ours *self, int index)
{
    const int tensor = self->tensors[index];
    const cse_checkpoint_tensor *t = &cse_sealed_reader_view(self->reader)->tensors[tensor];
    const uint64_t bytes = (uint64_t)cse_shape_elements(t->shape) * cse_dtype_size(t->dtype);
    if (self->stored != NULL && self->kept == index)
        return CSE_OK;
    free(self->stored);
    self->stored = cse_malloc(bytes + 1);
    self->kept = index;
    cse_status status = cse_sealed_reader_read(self->reader, tensor, 0, bytes, self->stored);
    if (status != CSE_OK) {
        free(self->stored);
        self->stored = NULL;
    }
    return status;
}

/* A row of a packed weight that is kept, which is filled up to whole words. */
static const unsigned char *stored_row(const ours *self, const cse_weight *weight, int64_t row)
{
    const int64_t words = cse_packed_row_words(weight->packed, weight->shape.dims[1]);
    return self->stored + (size_t)(row * words) * sizeof(int32_t);
}

static cse_status read_rows_of_ours(cse_weights *weights, int index, int64_t first, int64_t count,
                                    void *to)
{
    ours *self = weights->self;
    const cse_weight *weight = &weights->list[index];
    const size_t row = (size_t)cse_weight_row_bytes(weight);
    CSE_TRY(keep(self, index));
    for (int64_t r = 0; r < count; r++)
        memcpy((char *)to + (size_t)r * row, stored_row(self, weight, first + r), row);
    return CSE_OK;
}

/* Bytes [first, first + bytes) of the values of a packed weight that is kept. */
static void unpack(const ours *self, const cse_weight *weight, uint64_t first, size_t bytes,
                   char *to)
{
    const int64_t columns = weight->shape.dims[1];
    const size_t row_bytes = (size_t)columns * sizeof(float);
    float *row = cse_malloc(row_bytes + 1);
    for (size_t done = 0; done < bytes;) {
        const uint64_t at = first + done, within = at % row_bytes;
        const size_t some = row_bytes - within < bytes - done ? row_bytes - within : bytes - done;
        cse_packed_unpack_blocks(
            &(cse_packed_blocks){ weight->packed,
                                  stored_row(self, weight, (int64_t)(at / row_bytes)), 0,
                                  columns / weight->packed->elements },
            row);
        memcpy(to + done, (const char *)row + within, some);
        done += some;
    }
    free(row);
}

static cse_status read_ours(cse_weights *weights, int index, uint64_t first, size_t bytes, void *to)
{
    ours *self = weights->self;
    const cse_weight *weight = &weights->list[index];
    if (weight->packed == NULL && bytes == cse_weight_bytes(weight))
        return cse_sealed_reader_read(self->reader, self->tensors[index], 0, bytes, to);
    CSE_TRY(keep(self, index));
    if (weight->packed != NULL)
        unpack(self, weight, first, bytes, to);
    else
        memcpy(to, self->stored + first, bytes);
    return CSE_OK;
}

static void close_ours(cse_weights *weights)
{
    ours *self = weights->self;
    cse_sealed_reader_close(&self->reader);
    free(self->tensors);
    free(self->stored);
}

/* Takes the type off the end of a packed weight's name ("model.head.weight.Q4_1"), and makes its
 * shape that of the matrix; nothing of other tensors. */
static void tell_packed(cse_arena *arena, cse_weight *weight)
{
    const char *dot = strrchr(weight->name, '.');
    const cse_packed_type *type = dot != NULL ? cse_packed_of_name(dot + 1) : NULL;
    if (type == NULL || weight->element != CSE_ELEMENT_I32 || weight->shape.rank != 2)
        return;
    const int64_t columns = cse_packed_row_columns(type, weight->shape.dims[1]);
    if (columns < 1 || cse_packed_row_words(type, columns) != weight->shape.dims[1])
        return;
    weight->name = cse_arena_printf(arena, "%.*s", (int)(dot - weight->name), weight->name);
    weight->element = CSE_ELEMENT_F32;
    weight->shape.dims[1] = columns;
    weight->packed = type;
}

static cse_status add_tensors(cse_weights *weights, const cse_checkpoint *checkpoint, bool all)
{
    ours *self = weights->self;
    const bool averages = !all && cse_averages_are_evaluated(weights->arena, checkpoint->config);
    for (int i = 0; i < checkpoint->tensor_count; i++) {
        const cse_checkpoint_tensor *tensor = &checkpoint->tensors[i];
        const char *name = tensor->name;
        if (!all && strncmp(name, prefix, sizeof prefix - 1) != 0)
            continue;
        /* A run that evaluates averages has those as its weights. */
        const cse_checkpoint_tensor *average =
            averages ? cse_checkpoint_average(checkpoint, name, tensor->shape) : NULL;
        if (average != NULL)
            tensor = average;
        self->tensors[weights->count] = (int)(tensor - checkpoint->tensors);
        cse_weight weight = { .name = name + (all ? 0 : sizeof prefix - 1),
                              .element = cse_element_of_dtype(tensor->dtype),
                              .shape = tensor->shape,
                              .file = -1 };
        if (!all)
            tell_packed(weights->arena, &weight);
        CSE_TRY(cse_weights_add(weights, &weight));
    }
    return weights->count > 0
               ? CSE_OK
               : cse_fail(CSE_DATA, "%s: holds no parameters of a model", weights->path);
}

static cse_status open_mdl(cse_weights *weights, int file, const cse_weights_options *options)
{
    ours *self = cse_arena_alloc(weights->arena, sizeof *self);
    const cse_weights_file *at = &weights->files[file];
    weights->self = self;
    weights->read = read_ours;
    weights->read_rows = read_rows_of_ours;
    weights->close = close_ours;
    CSE_TRY(cse_sealed_reader_open(at->descriptor, at->path, &self->reader));
    const cse_checkpoint *checkpoint = cse_sealed_reader_view(self->reader);
    self->tensors = cse_calloc((size_t)checkpoint->tensor_count + 1, sizeof *self->tensors);
    weights->model_name = checkpoint->model_name;
    weights->config = checkpoint->config;
    weights->origin = checkpoint->origin;
    return add_tensors(weights, checkpoint, options->all);
}

/* ---- writing ---- */

typedef struct staged {
    int descriptor;
    unsigned char *memory;
    uint64_t bytes;
    uint64_t *offsets;
} staged;

static uint64_t aligned(uint64_t at)
{
    return (at + 63) / 64 * 64;
}

static int open_nameless(const char *path)
{
    char folder[PATH_MAX];
    const char *slash = strrchr(path, '/');
    snprintf(folder, sizeof folder, "%.*s", slash != NULL ? (int)(slash - path + 1) : 1,
             slash != NULL ? path : ".");
    const int descriptor = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    return descriptor >= 0 ? descriptor : memfd_create("weights", MFD_CLOEXEC);
}

static cse_status stage(cse_weights *from, const cse_weights_target *to, staged *s)
{
    const cse_weights_target there = { .descriptor = s->descriptor, .path = to->path };
    for (int i = 0; i < from->count; i++) {
        s->offsets[i] = s->bytes;
        CSE_TRY(cse_weights_put(from, i, &there, s->bytes, NULL));
        s->bytes = aligned(s->bytes + cse_weight_bytes(&from->list[i]));
    }
    if (ftruncate(s->descriptor, (off_t)s->bytes + 64) != 0)
        return cse_fail(CSE_IO, "%s: cannot be written: %s", to->path, strerror(errno));
    s->memory = mmap(NULL, s->bytes + 64, PROT_READ, MAP_SHARED, s->descriptor, 0);
    if (s->memory == MAP_FAILED)
        return cse_fail(CSE_TEMPORARY, "%s: the weights cannot be mapped: %s", to->path,
                        strerror(errno));
    return CSE_OK;
}

static cse_status save(const cse_weights *from, const cse_weights_target *to, const staged *s)
{
    cse_arena *arena = cse_arena_new();
    cse_checkpoint checkpoint = {
        .tensors = cse_calloc((size_t)from->count + 1, sizeof *checkpoint.tensors),
        .tensor_count = from->count,
        .model_name = to->model_name != NULL ? to->model_name : "",
        .config = to->config,
        .origin = to->origin,
    };
    for (int i = 0; i < from->count; i++) {
        const cse_weight *weight = &from->list[i];
        checkpoint.tensors[i] = (cse_checkpoint_tensor){
            .name = to->all ? weight->name : cse_arena_printf(arena, "%s%s", prefix, weight->name),
            .dtype = cse_element_dtype(weight->element),
            .shape = weight->shape,
            .data = s->memory + s->offsets[i],
        };
    }
    cse_status status = cse_checkpoint_write(&checkpoint, to->descriptor, to->path);
    free(checkpoint.tensors);
    cse_arena_destroy(&arena);
    return status;
}

static cse_status write_mdl(cse_weights *from, const cse_weights_target *to)
{
    static const cse_element accepted[] = { CSE_ELEMENT_F32,   CSE_ELEMENT_BF16, CSE_ELEMENT_F16,
                                            CSE_ELEMENT_CBF16, CSE_ELEMENT_I32,  CSE_ELEMENT_BOOL,
                                            CSE_ELEMENT_COUNT };
    CSE_TRY(cse_weights_accept(from, to, accepted));
    staged s = { .descriptor = open_nameless(to->path),
                 .memory = MAP_FAILED,
                 .offsets = cse_calloc((size_t)from->count + 1, sizeof *s.offsets) };
    cse_status status = s.descriptor >= 0 ? stage(from, to, &s)
                                          : cse_fail(CSE_IO, "%s: no temporary file: %s", to->path,
                                                     strerror(errno));
    if (status == CSE_OK)
        status = save(from, to, &s);
    if (s.memory != MAP_FAILED)
        munmap(s.memory, s.bytes + 64);
    if (s.descriptor >= 0)
        close(s.descriptor);
    free(s.offsets);
    return status;
}

const cse_weights_format cse_weight_format_mdl = {
    .name = "mdl",
    .summary = "a checkpoint of csengine",
    .extensions = ".mdl",
    .begins = begins,
    .open = open_mdl,
    .write = write_mdl,
};

/* arrays: each named array of NumPy is a stream of that name, for models whose samples are more
 * than features and an answer: two texts, or an image and its caption.
 *
 * Whole numbers are int32 and others float32. Values are looked at when they are read. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "dataloader/formats/npy_array.h"
#include "dataloader/input.h"
#include "engine/base/arena.h"
#include "engine/base/error.h"
#include "engine/base/types/shape.h"

typedef struct arrays {
    cse_file_pool *pool;
    cse_npy_array list[CSE_MAX_STREAMS];
    int64_t elements[CSE_MAX_STREAMS]; /* of a sample */
    char *names[CSE_MAX_STREAMS];
    int count;
    unsigned char *raw;
} arrays;

static const cse_setting settings_table[] = {
    { .name = "path",
      .type = CSE_SETTING_PATH,
      .doc = "an .npz, as numpy.savez and savez_compressed write it, or a folder of .npy files" },
    { .name = "arrays",
      .type = CSE_SETTING_TEXT_LIST,
      .doc = "names of the arrays [samples, ...], up to 8; NAME is the member of the .npz, or "
             "NAME.npy in the folder" },
    { 0 },
};

static bool is_whole(const cse_npy_header *header)
{
    return header->kind != 'f';
}

static cse_status open_one(arrays *self, const char *path, int i)
{
    char file[4096];
    struct stat status;
    cse_npy_array *array = &self->list[i];
    if (stat(path, &status) != 0 || !S_ISDIR(status.st_mode))
        return cse_npy_array_open(self->pool, path, self->names[i], array);
    if (strchr(self->names[i], '/') != NULL ||
        snprintf(file, sizeof file, "%s/%s.npy", path, self->names[i]) >= (int)sizeof file)
        return cse_fail(CSE_CONFIG, "data loader: arrays: \"%.80s\" is no name of a file",
                        self->names[i]);
    return cse_npy_array_open(self->pool, file, NULL, array);
}

/* The streams, all of as many samples. */
static cse_status describe(arrays *self, cse_input *input)
{
    size_t most = 0;
    for (int i = 0; i < self->count; i++) {
        const cse_npy_header *header = &self->list[i].header;
        cse_shape shape = { .rank = header->shape.rank - 1 };
        if (header->shape.rank < 1 || header->elements < 1)
            return cse_fail(CSE_DATA, "%s: the array %s holds no samples", input->source,
                            self->names[i]);
        if (header->shape.dims[0] != self->list[0].header.shape.dims[0])
            return cse_fail(CSE_DATA, "%s: %s has %" PRId64 " samples, but %s has %" PRId64,
                            input->source, self->names[i], header->shape.dims[0], self->names[0],
                            self->list[0].header.shape.dims[0]);
        for (int k = 0; k < shape.rank; k++)
            shape.dims[k] = header->shape.dims[k + 1];
        self->elements[i] = cse_shape_elements(shape);
        input->streams[i] = (cse_stream){ .name = self->names[i],
                                          .shape = shape,
                                          .dtype = is_whole(header) ? CSE_INT32 : CSE_FLOAT32 };
        const size_t bytes = (size_t)self->elements[i] * (size_t)header->size;
        most = bytes > most ? bytes : most;
    }
    input->stream_count = self->count;
    input->sample_count = self->list[0].header.shape.dims[0];
    self->raw = cse_malloc(most + 8);
    return CSE_OK;
}

static void arrays_close(cse_input *input)
{
    arrays *self = input->self;
    for (int i = 0; i < self->count; i++) {
        cse_npy_array_clear(&self->list[i]);
        free(self->names[i]);
    }
    cse_file_pool_destroy(&self->pool);
    free(self->raw);
    free(self);
    input->self = NULL;
}

static cse_status open_all(arrays *self, cse_input *input, const cse_settings *settings)
{
    const char *path = cse_settings_text(settings, "path");
    const int count = cse_settings_count(settings, "arrays");
    if (count < 1 || count > CSE_MAX_STREAMS)
        return cse_fail(CSE_CONFIG, "data loader: arrays (%s) has %d names; accepted: 1 to %d",
                        cse_settings_origin(settings, "arrays"), count, CSE_MAX_STREAMS);
    snprintf(input->source, sizeof input->source, "%s", path);
    for (int i = 0; i < count; i++) {
        const char *name = cse_settings_text_at(settings, "arrays", i);
        for (int k = 0; k < i; k++)
            if (strcmp(name, self->names[k]) == 0)
                return cse_fail(CSE_CONFIG, "data loader: arrays (%s) names %.80s twice",
                                cse_settings_origin(settings, "arrays"), name);
        self->names[self->count++] = cse_strdup(name);
        CSE_TRY(open_one(self, path, i));
    }
    return describe(self, input);
}

static cse_status arrays_open(cse_input *input, const cse_settings *settings)
{
    arrays *self = input->self = cse_calloc(1, sizeof *self);
    self->pool = cse_file_pool_new(NULL, NULL);
    cse_status status = open_all(self, input, settings);
    if (status != CSE_OK)
        arrays_close(input);
    return status;
}

static cse_status check_value(const arrays *self, int i, int64_t row, int64_t element)
{
    const cse_npy_header *header = &self->list[i].header;
    const double value = cse_npy_real(header, self->raw + element * header->size);
    if (is_whole(header) ? value >= INT32_MIN && value <= INT32_MAX : isfinite((float)value))
        return CSE_OK;
    return cse_fail(
        CSE_DATA,
        "%s: array %s, row %" PRId64 ", element %" PRId64 ": the value is %g; accepted: %s",
        cse_file_pool_path_view(self->pool, self->list[i].file), self->names[i], row, element,
        value, is_whole(header) ? "numbers that int32 holds" : "finite numbers that float32 holds");
}

static cse_status arrays_read(cse_input *input, const int64_t *indices, int64_t count,
                              void *const outputs[])
{
    arrays *self = input->self;
    for (int64_t n = 0; n < count; n++)
        for (int i = 0; i < self->count; i++) {
            const cse_npy_array *array = &self->list[i];
            const int64_t elements = self->elements[i];
            CSE_TRY(cse_npy_array_read(array, indices[n] * elements, elements, self->raw));
            for (int64_t e = 0; e < elements; e++)
                CSE_TRY(check_value(self, i, indices[n], e));
            cse_npy_convert(&array->header, self->raw, elements, input->streams[i].dtype,
                            (char *)outputs[i] + n * elements * 4);
        }
    return CSE_OK;
}

static void arrays_locate(const cse_input *input, const cse_element_place *place, char *text,
                          size_t size)
{
    const arrays *self = input->self;
    const int used = snprintf(text, size, "%s: array %s, row %" PRId64, input->source,
                              self->names[place->stream], place->sample);
    if (!place->whole && used > 0 && (size_t)used < size)
        snprintf(text + used, size - (size_t)used, ", element %" PRId64, place->element);
}

const cse_input_descriptor cse_input_arrays = {
    .name = "arrays",
    .summary = "named arrays of NumPy, each a stream of its name",
    .settings = settings_table,
    .open = arrays_open,
    .read = arrays_read,
    .locate = arrays_locate,
    .close = arrays_close,
};

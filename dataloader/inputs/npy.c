/* Features and answers from two .npy files whose first dimension is the sample.
 *
 * Values are read when they are asked for; (x - mean) / std is computed in float32. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dataloader/inputs/labelled.h"
#include "dataloader/npy_file.h"
#include "engine/base/arena.h"

enum { FEATURES_FILE, ANSWERS_FILE };

typedef struct npy {
    cse_file_pool *pool;
    cse_npy_header headers[2];
    int64_t elements; /* of the features of a sample */
    unsigned char *raw;
    float mean, std;
    bool regression;
    int64_t classes;
    char *features_name;
} npy;

static const cse_setting settings_table[] = {
    { .name = "features", .type = CSE_SETTING_PATH, .doc = "file of the features, [samples, ...]" },
    { .name = "answers",
      .type = CSE_SETTING_PATH,
      .doc = "file of the labels or targets, [samples]" },
    { .name = "regression",
      .type = CSE_SETTING_BOOL,
      .default_value = "false",
      .doc = "the answer is a number: stream targets (float32) in place of labels (int32)" },
    { .name = "classes",
      .type = CSE_SETTING_INTEGER,
      .default_value = "null",
      .min = 1,
      .max = INT32_MAX,
      .doc = "labels must be from 0 to classes - 1" },
    { .name = "mean",
      .type = CSE_SETTING_NUMBER,
      .default_value = "0.0",
      .doc = "subtracted from each feature" },
    { .name = "std",
      .type = CSE_SETTING_NUMBER,
      .default_value = "1.0",
      .min = 1e-30,
      .max = 1e30,
      .doc = "divides each feature after that" },
    CSE_FEATURES_NAME_SETTING,
    { 0 },
};

static cse_status open_files(npy *self, const cse_settings *settings)
{
    static const char *const names[] = { "features", "answers" };
    for (int i = 0; i < 2; i++) {
        int file;
        CSE_TRY(cse_file_pool_add(self->pool, cse_settings_text(settings, names[i]), &file));
        CSE_TRY(cse_npy_read_header(self->pool, file, &self->headers[i]));
    }
    const cse_shape features = self->headers[FEATURES_FILE].shape;
    const cse_shape answers = self->headers[ANSWERS_FILE].shape;
    if (features.rank < 1 || features.dims[0] < 1 || self->headers[FEATURES_FILE].elements < 1)
        return cse_fail(CSE_DATA, "%s: it holds no samples",
                        cse_file_pool_path_view(self->pool, FEATURES_FILE));
    if (answers.rank < 1 || answers.dims[0] != features.dims[0] ||
        self->headers[ANSWERS_FILE].elements != features.dims[0])
        return cse_fail(
            CSE_DATA,
            "%s: %" PRId64 " answers, but %s has %" PRId64 " samples: expected one answer for each",
            cse_file_pool_path_view(self->pool, ANSWERS_FILE), self->headers[ANSWERS_FILE].elements,
            cse_file_pool_path_view(self->pool, FEATURES_FILE), features.dims[0]);
    if (!self->regression && self->headers[ANSWERS_FILE].kind == 'f')
        return cse_fail(CSE_DATA,
                        "%s: the answers are floats: expected whole numbers, or set regression",
                        cse_file_pool_path_view(self->pool, ANSWERS_FILE));
    return CSE_OK;
}

static void npy_close(cse_input *input)
{
    npy *self = input->self;
    cse_file_pool_destroy(&self->pool);
    free(self->raw);
    free(self->features_name);
    free(self);
    input->self = NULL;
}

static cse_status npy_open(cse_input *input, const cse_settings *settings)
{
    npy *self = input->self = cse_calloc(1, sizeof *self);
    self->pool = cse_file_pool_new(NULL, NULL);
    self->regression = cse_settings_bool(settings, "regression");
    self->classes = cse_settings_has(settings, "classes")
                        ? cse_settings_integer(settings, "classes")
                        : INT32_MAX;
    self->mean = (float)cse_settings_number(settings, "mean");
    self->std = (float)cse_settings_number(settings, "std");
    self->features_name = cse_strdup(cse_settings_text(settings, "features_name"));
    cse_status status = open_files(self, settings);
    if (status != CSE_OK) {
        npy_close(input);
        return status;
    }
    const cse_npy_header *features = &self->headers[FEATURES_FILE];
    cse_shape shape = { .rank = features->shape.rank - 1 };
    for (int i = 0; i < shape.rank; i++)
        shape.dims[i] = features->shape.dims[i + 1];
    self->elements = cse_shape_elements(shape);
    self->raw = cse_malloc((size_t)(self->elements * features->size) + 8);
    input->sample_count = features->shape.dims[0];
    snprintf(input->source, sizeof input->source, "%s", cse_settings_text(settings, "features"));
    cse_describe_labelled(input, self->features_name, shape, self->regression);
    return CSE_OK;
}

static cse_status read_answer(npy *self, int64_t sample, int64_t i, void *const outputs[])
{
    const cse_npy_header *header = &self->headers[ANSWERS_FILE];
    int32_t label;
    CSE_TRY(cse_file_pool_read(self->pool, ANSWERS_FILE, header->offset + sample * header->size,
                               self->raw, (size_t)header->size));
    if (self->regression) {
        cse_npy_convert(header, self->raw, 1, CSE_FLOAT32,
                        (float *)outputs[CSE_ANSWERS_STREAM] + i);
        return CSE_OK;
    }
    cse_npy_convert(header, self->raw, 1, CSE_INT32, &label);
    if (label < 0 || label >= self->classes)
        return cse_fail(CSE_DATA,
                        "%s: label %" PRId32 " of sample %" PRId64 ", expected 0 to "
                        "%" PRId64 ": set classes to what the file holds",
                        cse_file_pool_path_view(self->pool, ANSWERS_FILE), label, sample,
                        self->classes - 1);
    ((int32_t *)outputs[CSE_ANSWERS_STREAM])[i] = label;
    return CSE_OK;
}

static cse_status npy_read(cse_input *input, const int64_t *indices, int64_t count,
                           void *const outputs[])
{
    npy *self = input->self;
    const cse_npy_header *header = &self->headers[FEATURES_FILE];
    const int64_t bytes = self->elements * header->size;
    for (int64_t i = 0; i < count; i++) {
        float *features = (float *)outputs[CSE_FEATURES_STREAM] + i * self->elements;
        CSE_TRY(cse_file_pool_read(self->pool, FEATURES_FILE, header->offset + indices[i] * bytes,
                                   self->raw, (size_t)bytes));
        cse_npy_convert(header, self->raw, self->elements, CSE_FLOAT32, features);
        for (int64_t e = 0; e < self->elements; e++)
            features[e] = (features[e] - self->mean) / self->std;
        CSE_TRY(read_answer(self, indices[i], i, outputs));
    }
    return CSE_OK;
}

static void npy_locate(const cse_input *input, const cse_element_place *place, char *text,
                       size_t size)
{
    const npy *self = input->self;
    const int file = place->stream == CSE_ANSWERS_STREAM ? ANSWERS_FILE : FEATURES_FILE;
    snprintf(text, size, "%s: row %" PRId64 ", element %" PRId64,
             cse_file_pool_path_view(self->pool, file), place->sample, place->element);
}

#define HEADER_OF(descr, shape, padding)                                                \
    "\223NUMPY\1\0\166\0{'descr': '" descr "', 'fortran_order': False, 'shape': " shape \
    ", }" padding "\n"
#define BLANKS_48 "                                                "
/* Twelve samples of one row of two bytes, and their answers. */
#define PAIRS HEADER_OF("|u1", "(12, 1, 2)", BLANKS_48 "      ") "aAbBcCdDeEfFgGhHiIjJkKlL"
#define ANSWERS HEADER_OF("|i1", "(12,)", BLANKS_48 "           ") "\0\1\2\3\4\5\6\7\10\11\12\13"
#define FILES                                                                 \
    {                                                                         \
        { .name = "x.npy", .text = PAIRS, .size = sizeof PAIRS - 1 },         \
            { .name = "y.npy", .text = ANSWERS, .size = sizeof ANSWERS - 1 }, \
    }

static const cse_input_sample samples[] = {
    { .settings = "features: $folder/x.npy, answers: $folder/y.npy, mean: 64, std: 2",
      .source = "ASCII",
      .files = FILES,
      .sample_count = 12,
      .value_count = 5,
      .values = { { CSE_FEATURES_STREAM, 0, 0, ('a' - 64) / 2.0 },
                  { CSE_FEATURES_STREAM, 11, 1, ('L' - 64) / 2.0 },
                  { CSE_ANSWERS_STREAM, 0, 0, 0 },
                  { CSE_ANSWERS_STREAM, 7, 0, 7 },
                  { CSE_ANSWERS_STREAM, 11, 0, 11 } } },
    { .settings = "features: $folder/x.npy, answers: $folder/y.npy, regression: true",
      .source = "ASCII",
      .files = FILES,
      .sample_count = 12,
      .value_count = 2,
      .values = { { CSE_FEATURES_STREAM, 3, 0, 'd' }, { CSE_ANSWERS_STREAM, 9, 0, 9 } } },
    { .settings = "features: $folder/y.npy, answers: $folder/x.npy",
      .refusal = "expected one answer for each",
      .files = FILES },
    { .settings = "features: $folder/x.npy, answers: $folder/z.npy",
      .refusal = "cannot open",
      .files = FILES },
    { .settings = NULL },
};

const cse_input_descriptor cse_input_npy = {
    .name = "npy",
    .summary = "features and answers from .npy files",
    .settings = settings_table,
    .open = npy_open,
    .read = npy_read,
    .locate = npy_locate,
    .close = npy_close,
    .samples = samples,
};

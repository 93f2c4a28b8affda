/* Features and answers from two arrays of NumPy whose first dimension is the sample.
 *
 * Values are read when they are asked for; (x - mean) / std is computed in float32. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dataloader/formats/npy_array.h"
#include "dataloader/identity/data_watch.h"
#include "dataloader/inputs/labelled.h"
#include "dataloader/inputs/token_streams.h"
#include "dataloader/tables/missing_values.h"
#include "engine/base/arena.h"
#include "engine/base/text.h"
#include "engine/base/types/shape.h"
#include "engine/base/vector_clones.h"

enum { FEATURES, ANSWERS };

/* Features of so many bytes are looked at before the first step, others when they are read. */
#define MOST_LOOKED_AT_BYTES (INT64_C(1) << 30)
/* Answers of so many bytes are kept in memory. */
#define MOST_KEPT_BYTES (INT64_C(1) << 26)

typedef struct npy {
    cse_file_pool *pool;
    cse_npy_array arrays[2];
    int64_t elements; /* of the features of a sample */
    unsigned char *raw;
    float mean, std;
    double *fill; /* [elements] */
    bool regression, has_answers;
    int64_t classes;
    cse_missing_values missing;
    int64_t *kept; /* [sample_count] rows, where some were left out; NULL: all */
    char *features_name;
} npy;

static const cse_setting settings_table[] = {
    { .name = "features",
      .type = CSE_SETTING_PATH,
      .doc = "file of the features, [samples, ...]: .npy, or .npz as numpy.savez and "
             "savez_compressed write it" },
    { .name = "features_key",
      .type = CSE_SETTING_TEXT,
      .default_value = "null",
      .doc = "the array of an .npz; null: its only one" },
    { .name = "answers",
      .type = CSE_SETTING_PATH,
      .default_value = "null",
      .doc = "file of the labels or targets, [samples] or [samples, 1]; it may be that of the "
             "features; needed but for predictions" },
    { .name = "answers_key",
      .type = CSE_SETTING_TEXT,
      .default_value = "null",
      .doc = "the array of an .npz; null: its only one" },
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
    CSE_MISSING_VALUES_SETTINGS,
    CSE_FEATURES_NAME_SETTING,
    { 0 },
};

static const char *path_of(const npy *self, int which)
{
    return cse_file_pool_path_view(self->pool, self->arrays[which].file);
}

/* ---- values ---- */

/* "x.npy[3, 0, 1]" of an element of a sample. */
static void print_place(const npy *self, int which, int64_t row, int64_t element, cse_text *text)
{
    const cse_shape *shape = &self->arrays[which].header.shape;
    int64_t rest = cse_shape_elements(*shape) / (shape->dims[0] > 0 ? shape->dims[0] : 1);
    cse_text_add(text, "%s[%" PRId64, path_of(self, which), row);
    for (int i = 1; i < shape->rank; i++) {
        rest /= shape->dims[i];
        cse_text_add(text, ", %" PRId64, element / rest % shape->dims[i]);
    }
    cse_text_add(text, "]");
}

static cse_status wrong_value(const npy *self, int which, int64_t row, int64_t element,
                              double value)
{
    cse_text place = { 0 };
    print_place(self, which, row, element, &place);
    cse_status status =
        isfinite(value)
            ? cse_fail(CSE_DATA, "%s: %g does not fit in float32: accepted are sizes up to 3.4e38",
                       place.data, value)
            : cse_fail(CSE_DATA, "%s: the value is %g: %s", place.data, value,
                       which == FEATURES ? CSE_MISSING_HINT
                                         : "the answer of a sample must be there; missing_values: "
                                           "drop leaves such samples out");
    cse_text_clear(&place);
    return status;
}

/* A value that float32 holds; or one that is not finite, for the caller. */
static cse_status check_value(const npy *self, int which, int64_t row, int64_t element,
                              double value)
{
    const bool is_filled = self->missing == CSE_MISSING_FILLED && which == FEATURES;
    return isfinite((float)value) || (!isfinite(value) && is_filled)
               ? CSE_OK
               : wrong_value(self, which, row, element, value);
}

static cse_status check_label(const npy *self, int64_t row, double label)
{
    if (!isfinite(label))
        return wrong_value(self, ANSWERS, row, 0, label);
    if (label >= 0 && label < (double)self->classes && label == floor(label))
        return CSE_OK;
    return cse_fail(CSE_DATA,
                    "%s: label %.17g of sample %" PRId64 ", expected a whole number from 0 to "
                    "%" PRId64 ": set classes to what the file holds, or regression",
                    path_of(self, ANSWERS), label, row, self->classes - 1);
}

/* ---- shapes ---- */

/* Labels of one class each, written as a row of zeros with one 1. */
static cse_status refuse_answers(const npy *self)
{
    const cse_npy_header *header = &self->arrays[ANSWERS].header;
    const cse_shape features = self->arrays[FEATURES].header.shape;
    if (header->shape.rank == 0)
        return cse_fail(CSE_DATA,
                        "%s: it is a single number, without a dimension: save array.reshape(1)",
                        path_of(self, ANSWERS));
    if (header->shape.rank == 2 && header->shape.dims[0] == features.dims[0])
        return cse_fail(CSE_DATA,
                        "%s: %" PRId64 " numbers a sample, expected one: save classes in place of "
                        "one-hot rows, array.argmax(axis=1)",
                        path_of(self, ANSWERS), header->shape.dims[1]);
    return cse_fail(
        CSE_DATA,
        "%s: %" PRId64 " answers, but %s has %" PRId64 " samples: expected one answer for each",
        path_of(self, ANSWERS), header->elements, path_of(self, FEATURES), features.dims[0]);
}

static cse_status open_array(npy *self, const cse_settings *settings, int which)
{
    static const char *const names[] = { "features", "answers" };
    static const char *const keys[] = { "features_key", "answers_key" };
    const char *key =
        cse_settings_has(settings, keys[which]) ? cse_settings_text(settings, keys[which]) : NULL;
    return cse_npy_array_open(self->pool, cse_settings_text(settings, names[which]), key,
                              &self->arrays[which]);
}

static cse_status open_files(npy *self, const cse_settings *settings, bool may_lack_answers)
{
    const cse_npy_header *features = &self->arrays[FEATURES].header;
    const cse_npy_header *answers = &self->arrays[ANSWERS].header;
    CSE_TRY(open_array(self, settings, FEATURES));
    if (features->shape.rank < 1 || features->elements < 1)
        return cse_fail(CSE_DATA, "%s: it holds no samples: %s", path_of(self, FEATURES),
                        features->shape.rank < 1 ? "it is a single number, without a dimension"
                                                 : "one of its dimensions is 0");
    self->has_answers =
        cse_settings_has(settings, "answers") &&
        (!may_lack_answers || cse_byte_source_exists(cse_settings_text(settings, "answers")));
    if (!self->has_answers)
        return may_lack_answers ? CSE_OK
                                : cse_fail(CSE_CONFIG,
                                           "data loader: %s: answers is needed: the file of the "
                                           "labels or targets",
                                           cse_settings_origin(settings, "features"));
    CSE_TRY(open_array(self, settings, ANSWERS));
    CSE_TRY(cse_npy_array_keep(&self->arrays[ANSWERS], MOST_KEPT_BYTES));
    return answers->shape.rank < 1 || answers->shape.dims[0] != features->shape.dims[0] ||
                   answers->elements != features->shape.dims[0]
               ? refuse_answers(self)
               : CSE_OK;
}

/* ---- a look at all values ---- */

typedef struct looking {
    int64_t limit;   /* all labels are below it */
    int64_t rounded; /* whole numbers that float32 rounds, and the place of the first */
    int64_t rounded_row, rounded_element;
    int64_t kept;
} looking;

static cse_status look_at_features(npy *self, int64_t row, looking *l, bool *is_missing)
{
    const cse_npy_array *array = &self->arrays[FEATURES];
    CSE_TRY(cse_npy_array_read(array, row * self->elements, self->elements, self->raw));
    for (int64_t e = 0; e < self->elements; e++) {
        const unsigned char *raw = self->raw + e * array->header.size;
        const double value = cse_npy_real(&array->header, raw);
        *is_missing = *is_missing || !isfinite(value);
        if (isfinite(value) || self->missing != CSE_MISSING_DROPPED)
            CSE_TRY(check_value(self, FEATURES, row, e, value));
        if (isfinite(value) && !cse_npy_fits_float(&array->header, raw) && l->rounded++ == 0) {
            l->rounded_row = row;
            l->rounded_element = e;
        }
    }
    return CSE_OK;
}

static cse_status look_at_answer(npy *self, int64_t row, looking *l, bool *is_missing)
{
    const cse_npy_array *array = &self->arrays[ANSWERS];
    CSE_TRY(cse_npy_array_read(array, row, 1, self->raw));
    const double value = cse_npy_real(&array->header, self->raw);
    *is_missing = *is_missing || !isfinite(value);
    if (!isfinite(value) && self->missing == CSE_MISSING_DROPPED)
        return CSE_OK;
    if (self->regression)
        return check_value(self, ANSWERS, row, 0, value);
    CSE_TRY(check_label(self, row, value));
    if (value >= (double)l->limit)
        l->limit = (int64_t)value + 1;
    return CSE_OK;
}

static void tell_rounded(const npy *self, const looking *l)
{
    cse_text place = { 0 };
    if (l->rounded == 0)
        return;
    print_place(self, FEATURES, l->rounded_row, l->rounded_element, &place);
    cse_data_tell("%s: a whole number is beyond the 24 bits of float32 and is rounded, as are "
                  "%" PRId64 " in all",
                  place.data, l->rounded);
    cse_text_clear(&place);
}

/* Which rows are left out is found by every process; the rest is looked at before the first step.
 */
static cse_status look_at_all(npy *self, cse_input *input)
{
    const cse_npy_header *features = &self->arrays[FEATURES].header;
    const int64_t rows = features->shape.dims[0];
    const bool drops = self->missing == CSE_MISSING_DROPPED, first = cse_data_is_first_look();
    const bool looks =
        drops || (first && features->elements * features->size <= MOST_LOOKED_AT_BYTES);
    looking l = { .limit = 0 };
    input->sample_count = rows;
    if (drops)
        self->kept = cse_calloc((size_t)rows, sizeof *self->kept);
    for (int64_t row = 0; row < rows && (looks || first); row++) {
        bool is_missing = false;
        if (looks)
            CSE_TRY(look_at_features(self, row, &l, &is_missing));
        if (self->has_answers)
            CSE_TRY(look_at_answer(self, row, &l, &is_missing));
        if (drops && !is_missing)
            self->kept[l.kept++] = row;
    }
    input->label_limit = self->regression ? 0 : l.limit;
    tell_rounded(self, &l);
    if (!drops)
        return CSE_OK;
    input->sample_count = l.kept;
    return cse_missing_values_told(path_of(self, FEATURES), rows - l.kept, l.kept);
}

/* ---- the input function ---- */

static void npy_close(cse_input *input)
{
    npy *self = input->self;
    cse_npy_array_clear(&self->arrays[FEATURES]);
    cse_npy_array_clear(&self->arrays[ANSWERS]);
    cse_file_pool_destroy(&self->pool);
    free(self->raw);
    free(self->fill);
    free(self->kept);
    free(self->features_name);
    free(self);
    input->self = NULL;
}

static cse_status open_all(npy *self, cse_input *input, const cse_settings *settings)
{
    const cse_npy_header *features = &self->arrays[FEATURES].header;
    CSE_TRY(open_files(self, settings, input->may_lack_answers));
    cse_shape shape = { .rank = features->shape.rank - 1 };
    for (int i = 0; i < shape.rank; i++)
        shape.dims[i] = features->shape.dims[i + 1];
    self->elements = cse_shape_elements(shape);
    self->raw = cse_malloc((size_t)(self->elements * features->size) + 8);
    CSE_TRY(cse_feature_numbers(settings, "fill_value", self->elements, path_of(self, FEATURES),
                                &self->fill));
    CSE_TRY(look_at_all(self, input));
    snprintf(input->source, sizeof input->source, "%s", path_of(self, FEATURES));
    cse_describe_labelled(input, self->features_name, shape, self->regression);
    return CSE_OK;
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
    self->missing = cse_missing_values_read(settings);
    self->features_name = cse_strdup(cse_settings_text(settings, "features_name"));
    cse_status status = open_all(self, input, settings);
    if (status != CSE_OK)
        npy_close(input);
    return status;
}

static int64_t row_of(const npy *self, int64_t sample)
{
    return self->kept != NULL ? self->kept[sample] : sample;
}

static cse_status read_answer(npy *self, int64_t row, int64_t i, void *const outputs[])
{
    const cse_npy_array *array = &self->arrays[ANSWERS];
    if (!self->has_answers) {
        cse_write_answer(outputs, i, self->regression,
                         self->regression ? (double)NAN : CSE_IGNORED_LABEL);
        return CSE_OK;
    }
    CSE_TRY(cse_npy_array_read(array, row, 1, self->raw));
    const double value = cse_npy_real(&array->header, self->raw);
    CSE_TRY(self->regression ? check_value(self, ANSWERS, row, 0, value)
                             : check_label(self, row, value));
    cse_write_answer(outputs, i, self->regression, value);
    return CSE_OK;
}

enum { BLOCK = 64 };

CSE_VECTOR_CLONES(bool, all_finite, (const float *values, int64_t count), (values, count))
{
    const uint32_t exponent = 0x7f800000;
    uint32_t found = 0;
    for (; count >= BLOCK; count -= BLOCK, values += BLOCK) {
        uint32_t words[BLOCK], bad[BLOCK];
        memcpy(words, values, sizeof words);
        for (int k = 0; k < BLOCK; k++)
            bad[k] = (words[k] & exponent) == exponent;
        for (int k = 0; k < BLOCK; k++)
            found |= bad[k];
    }
    for (; count > 0; count--, values++)
        found |= !isfinite(*values);
    return found == 0;
}

CSE_VECTOR_CLONES(void, scale, (float *values, int64_t count, float mean, float std),
                  (values, count, mean, std))
{
    for (; count >= BLOCK; count -= BLOCK, values += BLOCK)
        for (int k = 0; k < BLOCK; k++)
            values[k] = (values[k] - mean) / std;
    for (; count > 0; count--, values++)
        *values = (*values - mean) / std;
}

/* Of values that are not finite, those that are missing become what is filled in. `raw`: as they
 * stand in the file. */
static cse_status fill(const npy *self, int64_t row, const unsigned char *raw, float *features)
{
    const cse_npy_header *header = &self->arrays[FEATURES].header;
    for (int64_t e = 0; e < self->elements; e++) {
        if (isfinite(features[e]))
            continue;
        CSE_TRY(check_value(self, FEATURES, row, e, cse_npy_real(header, raw + e * header->size)));
        features[e] = (float)self->fill[e];
    }
    return CSE_OK;
}

/* Floats of the machine's order are read where they are wanted. */
static cse_status read_features(npy *self, int64_t row, float *features)
{
    const cse_npy_array *array = &self->arrays[FEATURES];
    const cse_npy_header *header = &array->header;
    const bool in_place = header->kind == 'f' && header->size == 4 && !header->big_endian;
    unsigned char *raw = in_place ? (unsigned char *)features : self->raw;
    CSE_TRY(cse_npy_array_read(array, row * self->elements, self->elements, raw));
    if (!in_place)
        cse_npy_convert(header, raw, self->elements, CSE_FLOAT32, features);
    if (!all_finite(features, self->elements))
        CSE_TRY(fill(self, row, raw, features));
    if (self->mean != 0 || self->std != 1)
        scale(features, self->elements, self->mean, self->std);
    return CSE_OK;
}

static cse_status npy_read(cse_input *input, const int64_t *indices, int64_t count,
                           void *const outputs[])
{
    npy *self = input->self;
    int descriptor;
    cse_file_pool_look_once(self->pool);
    if (self->has_answers) /* also where they are in memory, a change of their file is told */
        CSE_TRY(cse_file_pool_descriptor(self->pool, self->arrays[ANSWERS].file, &descriptor));
    for (int64_t i = 0; i < count; i++) {
        const int64_t row = row_of(self, indices[i]);
        if (i + 1 < count)
            cse_npy_array_expect(&self->arrays[FEATURES],
                                 row_of(self, indices[i + 1]) * self->elements, self->elements);
        CSE_TRY(
            read_features(self, row, (float *)outputs[CSE_FEATURES_STREAM] + i * self->elements));
        CSE_TRY(read_answer(self, row, i, outputs));
    }
    return CSE_OK;
}

static void npy_locate(const cse_input *input, const cse_element_place *place, char *text,
                       size_t size)
{
    const npy *self = input->self;
    const bool is_answer = place->stream == CSE_ANSWERS_STREAM && self->has_answers;
    const int used =
        snprintf(text, size, "%s: row %" PRId64, path_of(self, is_answer ? ANSWERS : FEATURES),
                 row_of(self, place->sample));
    if (!place->whole && used > 0 && (size_t)used < size)
        snprintf(text + used, size - (size_t)used, ", element %" PRId64, place->element);
}

const cse_input_descriptor cse_input_npy = {
    .name = "npy",
    .summary = "features and answers from .npy files",
    .settings = settings_table,
    .open = npy_open,
    .read = npy_read,
    .locate = npy_locate,
    .close = npy_close,
};

/* Images and labels from the idx files of the MNIST family (MNIST, Fashion-MNIST, ...).
 *
 * Both files are kept in memory as bytes, a quarter of their size in float32, and samples are
 * converted when they are read. (x / 255 - mean) / std has 256 values, which are computed once into
 * a table, by the same float32 operations as torchvision's ToTensor and Normalize. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dataloader/idx_file.h"
#include "dataloader/inputs/labelled.h"
#include "engine/base/arena.h"

#define DEBIAN_DIRECTORY "/usr/share/datasets/fashion-mnist"

enum { IMAGES_HEADER_BYTES = 16, LABELS_HEADER_BYTES = 8 };

typedef struct idx_images {
    cse_idx_file images; /* [sample, height, width] */
    cse_idx_file labels; /* [sample] */
    int64_t pixels;      /* of one sample */
    char *images_path, *labels_path;
    float value_of_byte[256];
} idx_images;

static const cse_setting settings_table[] = {
    { .name = "data_dir",
      .type = CSE_SETTING_PATH,
      .default_value = DEBIAN_DIRECTORY,
      .doc = "directory of the idx files, each plain or with .gz" },
    { .name = "split",
      .type = CSE_SETTING_CHOICE,
      .default_value = "train",
      .choices = "train|test",
      .doc = "train reads train-*-ubyte, test reads t10k-*-ubyte" },
    { .name = "mean",
      .type = CSE_SETTING_NUMBER,
      .default_value = "0.1307",
      .min = -1e6,
      .max = 1e6,
      .doc = "subtracted from each pixel after division by 255" },
    { .name = "std",
      .type = CSE_SETTING_NUMBER,
      .default_value = "0.3081",
      .min = 1e-6,
      .max = 1e6,
      .doc = "divides each pixel after the mean is subtracted" },
    { .name = "flatten",
      .type = CSE_SETTING_BOOL,
      .default_value = "true",
      .doc = "images as [height * width] instead of [1, height, width]" },
    { .name = "num_classes",
      .type = CSE_SETTING_INTEGER,
      .default_value = "10",
      .min = 1,
      .max = 256,
      .doc = "labels must be from 0 to num_classes - 1" },
    { 0 },
};

/* The plain file if it exists, else the compressed one; the caller frees `*path`. */
static cse_status find_file(const char *directory, const char *name, char **path)
{
    cse_arena *arena = cse_arena_new();
    const char *plain = cse_arena_printf(arena, "%s/%s", directory, name);
    const char *compressed = cse_arena_printf(arena, "%s/%s.gz", directory, name);
    cse_status status = CSE_OK;
    *path = NULL;
    if (cse_byte_source_exists(plain))
        *path = cse_strdup(plain);
    else if (cse_byte_source_exists(compressed))
        *path = cse_strdup(compressed);
    else
        status = cse_fail(CSE_NO_INPUT,
                          "%s: no such file, neither plain nor with .gz: set data_dir to the "
                          "directory of the data set, or install Debian's package "
                          "dataset-fashion-mnist (" DEBIAN_DIRECTORY ")",
                          plain);
    cse_arena_destroy(&arena);
    return status;
}

static cse_status check_labels(const idx_images *self, const char *images_path,
                               const char *labels_path, int64_t num_classes)
{
    if (self->labels.dims[0] != self->images.dims[0])
        return cse_fail(CSE_DATA,
                        "%s: offset 4: %" PRId64 " labels, but %s has %" PRId64
                        " images: the two files are not of one set",
                        labels_path, self->labels.dims[0], images_path, self->images.dims[0]);
    for (int64_t i = 0; i < self->labels.size_bytes; i++)
        if (self->labels.values[i] >= num_classes)
            return cse_fail(
                CSE_DATA,
                "%s: offset %" PRId64 ": label %d of sample %" PRId64 ", expected 0 to %" PRId64
                ": set num_classes to the number of classes, or fetch the file again",
                labels_path, LABELS_HEADER_BYTES + i, self->labels.values[i], i, num_classes - 1);
    return CSE_OK;
}

static cse_status load(cse_input *input, const cse_settings *settings)
{
    idx_images *self = input->self;
    const char *directory = cse_settings_text(settings, "data_dir");
    bool test = strcmp(cse_settings_text(settings, "split"), "test") == 0;
    char *images_path = NULL, *labels_path = NULL;
    cse_status status = find_file(
        directory, test ? "t10k-images-idx3-ubyte" : "train-images-idx3-ubyte", &images_path);
    if (status == CSE_OK)
        status = find_file(directory, test ? "t10k-labels-idx1-ubyte" : "train-labels-idx1-ubyte",
                           &labels_path);
    if (status == CSE_OK)
        status = cse_idx_file_load(images_path, 3, &self->images);
    if (status == CSE_OK)
        status = cse_idx_file_load(labels_path, 1, &self->labels);
    if (status == CSE_OK)
        status = check_labels(self, images_path, labels_path,
                              cse_settings_integer(settings, "num_classes"));
    if (status == CSE_OK)
        snprintf(input->source, sizeof input->source, "%s", images_path);
    self->images_path = images_path;
    self->labels_path = labels_path;
    return status;
}

static void fill_table(idx_images *self, float mean, float std)
{
    for (int byte = 0; byte < 256; byte++) {
        float unit = (float)byte / 255.0f;
        self->value_of_byte[byte] = (unit - mean) / std;
    }
}

static void idx_images_close(cse_input *input)
{
    idx_images *self = input->self;
    cse_idx_file_clear(&self->images);
    cse_idx_file_clear(&self->labels);
    free(self->images_path);
    free(self->labels_path);
    free(self);
    input->self = NULL;
}

static cse_status idx_images_open(cse_input *input, const cse_settings *settings)
{
    idx_images *self = input->self = cse_calloc(1, sizeof *self);
    cse_status status = load(input, settings);
    if (status != CSE_OK) {
        idx_images_close(input);
        return status;
    }
    fill_table(self, (float)cse_settings_number(settings, "mean"),
               (float)cse_settings_number(settings, "std"));
    int64_t height = self->images.dims[1], width = self->images.dims[2];
    self->pixels = height * width;
    input->sample_count = self->images.dims[0];
    cse_describe_labelled(input, "images",
                          cse_settings_bool(settings, "flatten") ? cse_shape_of(self->pixels)
                                                                 : cse_shape_of(1, height, width),
                          false);
    return CSE_OK;
}

/* The hot loop of input workers: two loads and one store per pixel. Computing the same value is
 * slower without vector instructions. */
static void convert(const float table[256], const unsigned char *bytes, int64_t count, float *out)
{
    for (int64_t i = 0; i < count; i++)
        out[i] = table[bytes[i]];
}

/* Shuffled samples lie anywhere in a file larger than the caches: the next ones are prefetched
 * while one is converted. */
static void prefetch(const idx_images *self, int64_t sample)
{
    enum { CACHE_LINE_BYTES = 64 };
    const unsigned char *bytes = self->images.values + sample * self->pixels;
    for (int64_t offset = 0; offset < self->pixels; offset += CACHE_LINE_BYTES)
        __builtin_prefetch(bytes + offset);
    __builtin_prefetch(self->labels.values + sample);
}

static cse_status idx_images_read(cse_input *input, const int64_t *indices, int64_t count,
                                  void *const outputs[])
{
    enum { AHEAD = 4 };
    const idx_images *self = input->self;
    float *images = outputs[CSE_FEATURES_STREAM];
    int32_t *labels = outputs[CSE_ANSWERS_STREAM];
    for (int64_t i = 0; i < count; i++) {
        if (i + AHEAD < count)
            prefetch(self, indices[i + AHEAD]);
        convert(self->value_of_byte, self->images.values + indices[i] * self->pixels, self->pixels,
                images + i * self->pixels);
        labels[i] = self->labels.values[indices[i]];
    }
    return CSE_OK;
}

static void idx_images_locate(const cse_input *input, const cse_element_place *place, char *text,
                              size_t size)
{
    const idx_images *self = input->self;
    bool label = place->stream == CSE_ANSWERS_STREAM;
    snprintf(text, size, "%s: offset %" PRId64, label ? self->labels_path : self->images_path,
             label ? LABELS_HEADER_BYTES + place->sample
                   : IMAGES_HEADER_BYTES + place->sample * self->pixels + place->element);
}

/* Ten images of 2 x 2 pixels and their labels; the labels are read compressed. */
#define SAMPLE_FILES                                                                               \
    {                                                                                              \
        { .name = "train-images-idx3-ubyte",                                                       \
          .text = "\0\0\x08\x03\0\0\0\x0a\0\0\0\x02\0\0\0\x02"                                     \
                  "\0\1A\177BCDEFGHIJKLMNOPQRSTUVWXYZabcdefghi\377z",                              \
          .size = 16 + 40 },                                                                       \
        {                                                                                          \
            .name = "train-labels-idx1-ubyte.gz",                                                  \
            .text = "\0\0\x08\x01\0\0\0\x0a\0\3\6\x09\2\5\x08\1\4\7", .size = 8 + 10, .gzip = true \
        }                                                                                          \
    }

static const cse_input_sample samples[] = {
    { .settings = "data_dir: $folder",
      .source = "torchvision's to_tensor and normalize (tests/reference/idx_normalisation.py)",
      .files = SAMPLE_FILES,
      .sample_count = 10,
      .value_count = 9,
      .values = { { CSE_FEATURES_STREAM, 0, 0, -0.424212962 },
                  { CSE_FEATURES_STREAM, 0, 1, -0.411484718 },
                  { CSE_FEATURES_STREAM, 0, 2, 0.403122276 },
                  { CSE_FEATURES_STREAM, 0, 3, 1.19227266 },
                  { CSE_FEATURES_STREAM, 9, 2, 2.82148671 },
                  { CSE_FEATURES_STREAM, 9, 3, 1.12863147 },
                  { CSE_ANSWERS_STREAM, 0, 0, 0 },
                  { CSE_ANSWERS_STREAM, 3, 0, 9 },
                  { CSE_ANSWERS_STREAM, 9, 0, 7 } } },
    { .settings = "data_dir: $folder, flatten: false, mean: 0.5, std: 0.25",
      .source = "torchvision's to_tensor and normalize (tests/reference/idx_normalisation.py)",
      .files = SAMPLE_FILES,
      .sample_count = 10,
      .value_count = 5,
      .values = { { CSE_FEATURES_STREAM, 0, 1, -1.98431373 },
                  { CSE_FEATURES_STREAM, 0, 2, -0.980392098 },
                  { CSE_FEATURES_STREAM, 0, 3, -0.00784313679 },
                  { CSE_FEATURES_STREAM, 9, 2, 2 },
                  { CSE_ANSWERS_STREAM, 9, 0, 7 } } },
    { .settings = "data_dir: $folder, num_classes: 9",
      .refusal = "label 9 of sample 3, expected 0 to 8",
      .files = SAMPLE_FILES },
    { .settings = "data_dir: $folder", .refusal = "dataset-fashion-mnist" },
    { .settings = NULL },
};

const cse_input_descriptor cse_input_idx_images = {
    .name = "idx_images",
    .summary = "images and labels from idx files (MNIST, Fashion-MNIST)",
    .settings = settings_table,
    .open = idx_images_open,
    .read = idx_images_read,
    .locate = idx_images_locate,
    .close = idx_images_close,
    .samples = samples,
};

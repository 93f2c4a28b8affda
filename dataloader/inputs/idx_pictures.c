/* Images and labels from the idx files of the MNIST family (MNIST, Fashion-MNIST, ...).
 *
 * Both files are kept in memory as bytes, a quarter of their size in float32, and samples are
 * converted when they are read. (x / 255 - mean) / std has 256 values, which are computed once into
 * a table, by the same float32 operations as torchvision's ToTensor and Normalize. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dataloader/formats/idx_file.h"
#include "dataloader/inputs/idx_pictures.h"
#include "dataloader/inputs/labelled.h"
#include "engine/base/arena.h"

enum { IMAGES_HEADER_BYTES = 16, LABELS_HEADER_BYTES = 8 };

typedef struct idx_images {
    cse_idx_file images; /* [sample, height, width] */
    cse_idx_file labels; /* [sample] */
    int64_t pixels;      /* of one sample */
    char *images_path, *labels_path;
    float value_of_byte[256];
} idx_images;

/* The plain file if it exists, else the compressed one; the caller frees `*path`. */
static cse_status find_file(const char *directory, const char *name, char **path)
{
    cse_arena *arena = cse_arena_new();
    const char *plain = cse_arena_printf(arena, "%s/%s", directory, name);
    const char *compressed = cse_arena_printf(arena, "%s/%s.gz", directory, name);
    const char *below = cse_arena_printf(arena, "%s/MNIST/raw/%s", directory, name);
    cse_status status = CSE_OK;
    *path = NULL;
    if (cse_byte_source_exists(plain))
        *path = cse_strdup(plain);
    else if (cse_byte_source_exists(compressed))
        *path = cse_strdup(compressed);
    else if (cse_byte_source_exists(below))
        *path = cse_strdup(below);
    else
        status = cse_fail(CSE_NO_INPUT,
                          "%s: no such file, neither plain nor with .gz: set data_dir to the "
                          "directory of the data set, or install Debian's package "
                          "dataset-fashion-mnist (" CSE_FASHION_MNIST_FOLDER ")",
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
    const bool test = strcmp(cse_settings_text(settings, "split"), "train") != 0;
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

void cse_idx_pictures_close(cse_input *input)
{
    idx_images *self = input->self;
    cse_idx_file_clear(&self->images);
    cse_idx_file_clear(&self->labels);
    free(self->images_path);
    free(self->labels_path);
    free(self);
    input->self = NULL;
}

cse_status cse_idx_pictures_open(cse_input *input, const cse_settings *settings)
{
    idx_images *self = input->self = cse_calloc(1, sizeof *self);
    cse_status status = load(input, settings);
    if (status != CSE_OK) {
        cse_idx_pictures_close(input);
        return status;
    }
    fill_table(self, (float)cse_settings_number(settings, "mean"),
               (float)cse_settings_number(settings, "std"));
    int64_t height = self->images.dims[1], width = self->images.dims[2];
    self->pixels = height * width;
    input->sample_count = self->images.dims[0];
    for (int64_t i = 0; i < input->sample_count; i++)
        if (self->labels.values[i] >= input->label_limit)
            input->label_limit = self->labels.values[i] + 1;
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

cse_status cse_idx_pictures_read(cse_input *input, const int64_t *indices, int64_t count,
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

void cse_idx_pictures_locate(const cse_input *input, const cse_element_place *place, char *text,
                             size_t size)
{
    const idx_images *self = input->self;
    bool label = place->stream == CSE_ANSWERS_STREAM;
    snprintf(text, size, "%s: offset %" PRId64, label ? self->labels_path : self->images_path,
             label ? LABELS_HEADER_BYTES + place->sample
                   : IMAGES_HEADER_BYTES + place->sample * self->pixels + place->element);
}

/* Both data sets of this kind have pictures of 28 x 28. */
cse_status cse_idx_pictures_describe(cse_input *input, const cse_settings *settings,
                                     const cse_unseen_data *known)
{
    enum { SIDE = 28 };
    static const char *const read[] = { "mean", "std" };
    (void)known;
    for (size_t i = 0; i < sizeof read / sizeof read[0]; i++)
        cse_settings_number(settings, read[i]);
    cse_settings_text(settings, "split");
    cse_describe_labelled(input, "images",
                          cse_settings_bool(settings, "flatten") ? cse_shape_of(SIDE * SIDE)
                                                                 : cse_shape_of(1, SIDE, SIDE),
                          false);
    return CSE_OK;
}

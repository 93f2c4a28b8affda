/* Pictures and labels from tar archives, as WebDataset has them: members whose names agree up to
 * the first dot are one sample, 0001.jpg and 0001.cls.
 *
 * Members are found by their places (tar_index.h), so that archives are read in any order, and any
 * number of processes read one of them. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "dataloader/bad_records.h"
#include "dataloader/files/file_list.h"
#include "dataloader/files/tar_index.h"
#include "dataloader/inputs/labelled.h"
#include "dataloader/pictures/image_transform.h"
#include "engine/base/arena.h"

enum { LABEL_MOST_BYTES = 32, KEY_BYTES = CSE_TAR_NAME_BYTES };

#define MOST_MEMBER_BYTES ((int64_t)1 << 28)

typedef struct tar_sample {
    int64_t image_offset, image_bytes; /* offset 0: none */
    int64_t label_offset, label_bytes;
    int file;
} tar_sample;

typedef struct tar_samples {
    cse_file_pool *pool;
    tar_sample *samples;
    int64_t count, capacity;
    cse_image_transform transform;
    cse_image_decoder *decoder;
    cse_image image;
    unsigned char *bytes; /* [capacity_bytes] */
    size_t capacity_bytes;
    cse_bad_records bad;
    int64_t classes;
    /* while an archive is gone through */
    const char *image_endings, *label_ending;
    char key[KEY_BYTES];
    int file;
    /* of the sample that is being read */
    int64_t epoch;
    float *values;
    int32_t *label;
} tar_samples;

static const cse_setting settings_table[] = {
    { .name = "path",
      .type = CSE_SETTING_PATH,
      .doc = "folder of *.tar files, or one such file; not compressed" },
    { .name = "image",
      .type = CSE_SETTING_TEXT,
      .default_value = "jpg|jpeg|png|webp",
      .doc = "what names of pictures end in, behind the first dot" },
    { .name = "label",
      .type = CSE_SETTING_TEXT,
      .default_value = "cls",
      .doc = "what names of labels end in: files with the number of the class" },
    { .name = "classes",
      .type = CSE_SETTING_INTEGER,
      .default_value = "null",
      .min = 1,
      .max = INT32_MAX,
      .doc = "labels must be from 0 to classes - 1" },
    CSE_IMAGE_SETTINGS,
    CSE_BAD_RECORD_SETTING,
    { 0 },
};

/* Whether `name` is one of the words of "a|b". */
static bool is_one_of(const char *name, const char *words)
{
    for (const char *next = words; *next != '\0';) {
        const size_t size = strcspn(next, "|");
        if (strlen(name) == size && strncasecmp(name, next, size) == 0)
            return true;
        next += size + (next[size] == '|');
    }
    return false;
}

static cse_status take_member(void *argument, const cse_tar_member *member)
{
    tar_samples *self = argument;
    const char *slash = strrchr(member->name, '/');
    const char *dot = strchr(slash != NULL ? slash : member->name, '.');
    const size_t length = dot != NULL ? (size_t)(dot - member->name) : 0;
    if (dot == NULL || length == 0 || dot[-1] == '/')
        return CSE_OK;
    const bool is_image = is_one_of(dot + 1, self->image_endings);
    if (!is_image && !is_one_of(dot + 1, self->label_ending))
        return CSE_OK;
    if (strlen(self->key) != length || memcmp(self->key, member->name, length) != 0 ||
        self->count == 0 || self->samples[self->count - 1].file != self->file) {
        CSE_GROW(self->samples, self->count, self->capacity);
        self->samples[self->count++] = (tar_sample){ .file = self->file };
        snprintf(self->key, sizeof self->key, "%.*s", (int)length, member->name);
    }
    tar_sample *sample = &self->samples[self->count - 1];
    if (is_image) {
        sample->image_offset = member->offset;
        sample->image_bytes = member->bytes;
    } else {
        sample->label_offset = member->offset;
        sample->label_bytes = member->bytes;
    }
    return CSE_OK;
}

static cse_status add_archive(tar_samples *self, const char *path)
{
    CSE_TRY(cse_file_pool_add(self->pool, path, &self->file));
    return cse_tar_visit_all(self->pool, self->file, take_member, self);
}

static cse_status add_archives(tar_samples *self, const cse_settings *settings)
{
    struct stat info;
    cse_file_list list = { 0 };
    const char *path = cse_settings_text(settings, "path");
    self->image_endings = cse_settings_text(settings, "image");
    self->label_ending = cse_settings_text(settings, "label");
    cse_status status = CSE_OK;
    if (stat(path, &info) == 0 && S_ISREG(info.st_mode)) {
        status = add_archive(self, path);
    } else {
        status = cse_file_list_read(&list, path, ".tar");
        for (int i = 0; i < list.count && status == CSE_OK; i++)
            status = add_archive(self, cse_arena_printf(list.arena, "%s/%s", path, list.names[i]));
    }
    cse_file_list_clear(&list);
    if (status == CSE_OK && self->count == 0)
        status = cse_fail(CSE_NO_INPUT,
                          "%s: no member of a .tar ends in .%s or .%s: set image and label to what "
                          "names end in",
                          path, self->image_endings, self->label_ending);
    self->image_endings = self->label_ending = NULL;
    return status;
}

static void tar_samples_close(cse_input *input)
{
    tar_samples *self = input->self;
    cse_image_transform_clear(&self->transform);
    cse_image_decoder_destroy(&self->decoder);
    cse_image_clear(&self->image);
    cse_file_pool_destroy(&self->pool);
    free(self->samples);
    free(self->bytes);
    free(self);
    input->self = NULL;
}

static cse_status tar_samples_read_labels(cse_input *input, const int64_t *indices, int64_t count,
                                          int32_t *labels);

static cse_status tar_samples_open(cse_input *input, const cse_settings *settings)
{
    tar_samples *self = input->self = cse_calloc(1, sizeof *self);
    self->pool = cse_file_pool_new(NULL, NULL);
    self->classes = cse_settings_has(settings, "classes")
                        ? cse_settings_integer(settings, "classes")
                        : INT32_MAX;
    cse_bad_records_read(settings, &self->bad);
    cse_status status = cse_image_transform_open(settings, &self->transform);
    self->decoder = cse_image_decoder_new(self->transform.turns);
    if (status == CSE_OK)
        status = add_archives(self, settings);
    if (status != CSE_OK) {
        tar_samples_close(input);
        return status;
    }
    input->sample_count = self->count;
    snprintf(input->source, sizeof input->source, "%s", cse_settings_text(settings, "path"));
    input->read_labels = tar_samples_read_labels;
    cse_describe_labelled(input, "images", cse_image_transform_shape(&self->transform), false);
    return CSE_OK;
}

static cse_status read_label(tar_samples *self, const tar_sample *sample)
{
    char text[LABEL_MOST_BYTES + 1] = "", *end;
    if (sample->label_offset == 0)
        return cse_fail(CSE_DATA, "the sample has no label beside its picture");
    if (sample->label_bytes > LABEL_MOST_BYTES)
        return cse_fail(CSE_DATA, "the label has %" PRId64 " bytes, expected a number",
                        sample->label_bytes);
    CSE_TRY(cse_file_pool_read(self->pool, sample->file, sample->label_offset, text,
                               (size_t)sample->label_bytes));
    const long label = strtol(text, &end, 10);
    if (end == text || end[strspn(end, " \r\n\t")] != '\0' || label < 0 || label >= self->classes)
        return cse_fail(CSE_DATA, "the label is \"%.32s\", expected a number from 0 to %" PRId64,
                        text, self->classes - 1);
    *self->label = (int32_t)label;
    return CSE_OK;
}

static cse_status read_sample(tar_samples *self, const tar_sample *sample, int64_t index)
{
    CSE_TRY(read_label(self, sample));
    if (sample->image_offset == 0)
        return cse_fail(CSE_DATA, "the sample has no picture beside its label");
    if (sample->image_bytes > MOST_MEMBER_BYTES)
        return cse_fail(CSE_DATA, "the picture has more than 2^28 bytes");
    if ((size_t)sample->image_bytes > self->capacity_bytes) {
        self->capacity_bytes = (size_t)sample->image_bytes * 2;
        self->bytes = cse_realloc(self->bytes, self->capacity_bytes);
    }
    CSE_TRY(cse_file_pool_read(self->pool, sample->file, sample->image_offset, self->bytes,
                               (size_t)sample->image_bytes));
    const cse_picture_source source = { self->decoder, self->bytes, (size_t)sample->image_bytes,
                                        &self->image };
    return cse_image_transform_read(&self->transform, &source, self->epoch, index, self->values);
}

static int64_t offset_of(const tar_sample *sample)
{
    return sample->image_offset != 0 ? sample->image_offset : sample->label_offset;
}

static cse_status try_sample(void *argument, int64_t index)
{
    tar_samples *self = argument;
    const tar_sample *sample = &self->samples[index];
    cse_status status = read_sample(self, sample, index);
    return status == CSE_OK ? CSE_OK
                            : cse_fail_within(status, "%s: offset %" PRId64 ": ",
                                              cse_file_pool_path_view(self->pool, sample->file),
                                              offset_of(sample));
}

static cse_status tar_samples_read(cse_input *input, const int64_t *indices, int64_t count,
                                   void *const outputs[])
{
    tar_samples *self = input->self;
    const int64_t elements = cse_shape_elements(input->streams[CSE_FEATURES_STREAM].shape);
    for (int64_t i = 0; i < count; i++) {
        self->epoch = input->epochs != NULL ? input->epochs[i] : 0;
        self->values = (float *)outputs[CSE_FEATURES_STREAM] + i * elements;
        self->label = (int32_t *)outputs[CSE_ANSWERS_STREAM] + i;
        CSE_TRY(cse_read_good_record(&self->bad, indices[i], self->count, try_sample, self));
    }
    return CSE_OK;
}

static cse_status try_label(void *argument, int64_t index)
{
    tar_samples *self = argument;
    const tar_sample *sample = &self->samples[index];
    cse_status status = read_label(self, sample);
    return status == CSE_OK ? CSE_OK
                            : cse_fail_within(status, "%s: offset %" PRId64 ": ",
                                              cse_file_pool_path_view(self->pool, sample->file),
                                              offset_of(sample));
}

/* No picture is decoded for it. */
static cse_status tar_samples_read_labels(cse_input *input, const int64_t *indices, int64_t count,
                                          int32_t *labels)
{
    tar_samples *self = input->self;
    for (int64_t i = 0; i < count; i++) {
        self->label = &labels[i];
        CSE_TRY(cse_read_good_record(&self->bad, indices[i], self->count, try_label, self));
    }
    return CSE_OK;
}

static void tar_samples_locate(const cse_input *input, const cse_element_place *place, char *text,
                               size_t size)
{
    const tar_samples *self = input->self;
    const tar_sample *sample = &self->samples[place->sample];
    snprintf(text, size, "%s: offset %" PRId64, cse_file_pool_path_view(self->pool, sample->file),
             offset_of(sample));
}

const cse_input_descriptor cse_input_tar_samples = {
    .name = "tar_samples",
    .summary = "pictures and labels from tar archives, as WebDataset has them",
    .settings = settings_table,
    .open = tar_samples_open,
    .read = tar_samples_read,
    .locate = tar_samples_locate,
    .close = tar_samples_close,
};

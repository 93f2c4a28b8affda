/* Pictures in a folder with a folder for each class, as ImageNet has them: train/cat/1.jpg.
 *
 * Classes are numbered in the order of their names. Pictures are decoded when they are read; the
 * folder may be larger than memory. */
#include <inttypes.h>
#include <stdlib.h>

#include "dataloader/inputs/class_pictures.h"
#include "dataloader/inputs/labelled.h"
#include "dataloader/pictures/image_transform.h"
#include "engine/base/arena.h"

typedef struct image_folder {
    cse_class_pictures pictures;
    cse_image_transform transform;
    bool flattens;
} image_folder;

static const cse_setting settings_table[] = {
    { .name = "data_dir",
      .type = CSE_SETTING_PATH,
      .doc = "folder with a folder of pictures (JPEG, PNG, WebP) for each class" },
    CSE_IMAGE_SETTINGS,
    { .name = "flatten",
      .type = CSE_SETTING_BOOL,
      .default_value = "false",
      .doc = "pictures as [channels * height * width]" },
    { .name = "num_classes",
      .type = CSE_SETTING_INTEGER,
      .default_value = "null",
      .min = 1,
      .max = 1 << 24,
      .doc = "how many classes there must be; null: as many as there are folders" },
    CSE_BAD_RECORD_SETTING,
    { 0 },
};

static cse_status check_classes(const image_folder *self, const cse_settings *settings)
{
    if (cse_settings_has(settings, "num_classes") &&
        cse_settings_integer(settings, "num_classes") != self->pictures.folders.classes)
        return cse_fail(CSE_DATA,
                        "%s: it has %d folders of classes, num_classes is %" PRId64 ": set it to "
                        "what is there",
                        self->pictures.folders.folder, self->pictures.folders.classes,
                        cse_settings_integer(settings, "num_classes"));
    return CSE_OK;
}

static void image_folder_close(cse_input *input)
{
    image_folder *self = input->self;
    cse_image_transform_clear(&self->transform);
    cse_class_pictures_clear(&self->pictures);
    free(self);
    input->self = NULL;
}

static cse_status transform(void *argument, const cse_picture_source *source, int64_t epoch,
                            int64_t index, float *values)
{
    image_folder *self = argument;
    return cse_image_transform_read(&self->transform, source, epoch, index, values);
}

static cse_status image_folder_open(cse_input *input, const cse_settings *settings)
{
    image_folder *self = input->self = cse_calloc(1, sizeof *self);
    self->flattens = cse_settings_bool(settings, "flatten");
    cse_class_pictures_begin(&self->pictures, settings, transform, self);
    cse_status status = cse_image_transform_open(settings, &self->transform);
    if (status == CSE_OK)
        status = cse_class_folders_read(&self->pictures.folders,
                                        cse_settings_text(settings, "data_dir"));
    if (status == CSE_OK)
        status = check_classes(self, settings);
    if (status != CSE_OK) {
        image_folder_close(input);
        return status;
    }
    const cse_shape shape = cse_image_transform_shape(&self->transform);
    cse_class_pictures_describe(&self->pictures, input,
                                self->flattens ? cse_shape_of(cse_shape_elements(shape)) : shape);
    return CSE_OK;
}

static cse_status image_folder_read(cse_input *input, const int64_t *indices, int64_t count,
                                    void *const outputs[])
{
    image_folder *self = input->self;
    return cse_class_pictures_read(&self->pictures, input, indices, count, outputs);
}

static void image_folder_locate(const cse_input *input, const cse_element_place *place, char *text,
                                size_t size)
{
    const image_folder *self = input->self;
    cse_class_pictures_locate(&self->pictures, place, text, size);
}

static cse_status image_folder_describe(cse_input *input, const cse_settings *settings,
                                        const cse_unseen_data *known)
{
    cse_image_transform transform;
    (void)known;
    CSE_TRY(cse_image_transform_open(settings, &transform));
    const cse_shape shape = cse_image_transform_shape(&transform);
    const bool flattens = cse_settings_bool(settings, "flatten");
    cse_image_transform_clear(&transform);
    cse_describe_labelled(input, "images",
                          flattens ? cse_shape_of(cse_shape_elements(shape)) : shape, false);
    return CSE_OK;
}

const cse_input_descriptor cse_input_image_folder = {
    .name = "image_folder",
    .summary = "pictures (JPEG, PNG, WebP) in a folder for each class",
    .settings = settings_table,
    .open = image_folder_open,
    .read = image_folder_read,
    .locate = image_folder_locate,
    .close = image_folder_close,
    .describe = image_folder_describe,
};

/* The ModelZoo's ImageNet1KProcessor: pictures of data_dir/train or data_dir/val with a folder for
 * each class, and its list of transforms (image_steps.h). */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "csengine/modules.h"
#include "dataloader/inputs/class_pictures.h"
#include "dataloader/inputs/labelled.h"
#include "dataloader/pictures/image_steps.h"
#include "engine/base/arena.h"

typedef struct imagenet {
    cse_class_pictures pictures;
    cse_image_steps steps;
} imagenet;

static const cse_setting settings_table[] = {
    { .name = "data_dir",
      .type = CSE_SETTING_PATH,
      .doc =
          "folder with the folders train and val, each with a folder of pictures (JPEG, PNG, WebP) "
          "for each class" },
    { .name = "split",
      .type = CSE_SETTING_CHOICE,
      .default_value = "train",
      .choices = "train|val",
      .doc = "which of the two is read" },
    { .name = "image_size",
      .type = CSE_SETTING_INTEGER_LIST,
      .default_value = "[224, 224]",
      .min = 1,
      .max = 8192,
      .doc = "height and width of a sample, which the transforms must make" },
    { .name = "transforms",
      .type = CSE_SETTING_ANY,
      .doc = "[{name: resize, size: [256, 256]}, ...]: resize, center_crop, random_resized_crop, "
             "random_horizontal_flip, to_tensor, normalize" },
    { .name = "num_classes",
      .type = CSE_SETTING_INTEGER,
      .default_value = "null",
      .min = 1,
      .max = 1 << 24,
      .doc = "classes that there may be, at most" },
    CSE_UNSUPPORTED_SETTING("noaugment", "false", "transforms are left out"),
    CSE_UNSUPPORTED_SETTING("sampler", "random", "how samples are drawn"),
    CSE_EXIF_SETTING,
    CSE_BAD_RECORD_SETTING,
    { 0 },
};

static cse_status read_steps(const cse_settings *settings, cse_image_steps *steps)
{
    CSE_TRY(cse_refuse_unsupported(settings_table, settings));
    cse_settings_bool(settings, "exif_transpose");
    CSE_TRY(cse_image_steps_read(settings, "transforms", "image_size", steps));
    if (cse_settings_has(settings, "shuffle_seed"))
        steps->seed = (uint64_t)cse_settings_integer(settings, "shuffle_seed");
    return CSE_OK;
}

static cse_status imagenet_describe(cse_input *input, const cse_settings *settings,
                                    const cse_unseen_data *known)
{
    cse_image_steps steps;
    (void)known;
    CSE_TRY(read_steps(settings, &steps));
    cse_describe_labelled(input, "images", cse_shape_of(3, steps.height, steps.width), false);
    cse_settings_text(settings, "split");
    if (cse_settings_has(settings, "num_classes"))
        cse_settings_integer(settings, "num_classes");
    return CSE_OK;
}

static void imagenet_close(cse_input *input)
{
    imagenet *self = input->self;
    cse_image_steps_clear(&self->steps);
    cse_class_pictures_clear(&self->pictures);
    free(self);
    input->self = NULL;
}

static cse_status find_pictures(imagenet *self, const cse_settings *settings)
{
    char folder[4096];
    if (snprintf(folder, sizeof folder, "%s/%s", cse_settings_text(settings, "data_dir"),
                 cse_settings_text(settings, "split")) >= (int)sizeof folder)
        return cse_fail(CSE_CONFIG, "data loader: data_dir is too long");
    CSE_TRY(cse_class_folders_read(&self->pictures.folders, folder));
    if (cse_settings_has(settings, "num_classes") &&
        cse_settings_integer(settings, "num_classes") < self->pictures.folders.classes)
        return cse_fail(CSE_DATA, "%s: it has %d folders of classes, num_classes is %" PRId64,
                        folder, self->pictures.folders.classes,
                        cse_settings_integer(settings, "num_classes"));
    return CSE_OK;
}

static cse_status transform(void *argument, const cse_picture_source *source, int64_t epoch,
                            int64_t index, float *values)
{
    imagenet *self = argument;
    CSE_TRY(cse_image_decode(source->decoder, source->bytes, source->size, source->image));
    return cse_image_steps_apply(&self->steps, source->image, epoch, index, values);
}

static cse_status imagenet_open(cse_input *input, const cse_settings *settings)
{
    imagenet *self = input->self = cse_calloc(1, sizeof *self);
    cse_class_pictures_begin(&self->pictures, settings, transform, self);
    cse_status status = read_steps(settings, &self->steps);
    if (status == CSE_OK)
        status = find_pictures(self, settings);
    if (status != CSE_OK) {
        imagenet_close(input);
        return status;
    }
    cse_class_pictures_describe(&self->pictures, input,
                                cse_shape_of(3, self->steps.height, self->steps.width));
    return CSE_OK;
}

static cse_status imagenet_read(cse_input *input, const int64_t *indices, int64_t count,
                                void *const outputs[])
{
    imagenet *self = input->self;
    return cse_class_pictures_read(&self->pictures, input, indices, count, outputs);
}

static void imagenet_locate(const cse_input *input, const cse_element_place *place, char *text,
                            size_t size)
{
    const imagenet *self = input->self;
    cse_class_pictures_locate(&self->pictures, place, text, size);
}

const cse_input_descriptor cse_input_imagenet1k = {
    .name = "ImageNet1KProcessor",
    .summary = "pictures of ImageNet's folders with a list of transforms, as the ModelZoo has them",
    .settings = settings_table,
    .open = imagenet_open,
    .read = imagenet_read,
    .locate = imagenet_locate,
    .close = imagenet_close,
    .describe = imagenet_describe,
};

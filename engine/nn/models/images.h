/* What models of images share: the size of an image among the settings, and the input as images. */
#ifndef CSE_MODELS_IMAGES_H
#define CSE_MODELS_IMAGES_H

#include "csengine/model.h"
#include "csengine/modules.h"

typedef struct cse_image_size {
    int64_t channels, height, width;
} cse_image_size;

#define CSE_IMAGE_SETTINGS(size, channels)                                                \
    { .name = "image_size",                                                               \
      .type = CSE_SETTING_INTEGER_LIST,                                                   \
      .default_value = (size),                                                            \
      .min = 1,                                                                           \
      .max = 1 << 14,                                                                     \
      .doc = "[height, width] of the images" },                                           \
    {                                                                                     \
        .name = "num_channels", .type = CSE_SETTING_INTEGER, .default_value = (channels), \
        .min = 1, .max = 1 << 14, .doc = "channels of the images"                         \
    }

cse_status cse_image_size_read(const cse_settings *settings, cse_image_size *size);

/* Images [batch, channels, height, width] of an input [batch, ...] with as many elements. */
cse_tensor *cse_images_of(cse_tensor *input, cse_image_size size);

#endif

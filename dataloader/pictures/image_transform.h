/* From the file of a picture to the numbers of a sample: crop, resize, flip, augmentations, and the
 * scale of the values. No more is decoded and resized than is used.
 *
 * What chance decides is a pure function of (seed, epoch, sample). Without chance it is
 * torchvision's Resize, CenterCrop, ToTensor and Normalize. */
#ifndef CSE_DATALOADER_PICTURES_IMAGE_TRANSFORM_H
#define CSE_DATALOADER_PICTURES_IMAGE_TRANSFORM_H

#include <stdint.h>

#include "csengine/extend.h"
#include "csengine/tensor.h"
#include "dataloader/pictures/augmentations.h"
#include "dataloader/pictures/image_decode.h"
#include "dataloader/pictures/image_resize.h"

/* Rows for the settings of an input function. */
#define CSE_IMAGE_SETTINGS                                                                        \
    CSE_EXIF_SETTING,                                                                             \
        { .name = "image_size",                                                                   \
          .type = CSE_SETTING_INTEGER_LIST,                                                       \
          .default_value = "[224, 224]",                                                          \
          .min = 1,                                                                               \
          .max = 8192,                                                                            \
          .doc = "height and width of a sample" },                                                \
        { .name = "channels",                                                                     \
          .type = CSE_SETTING_INTEGER,                                                            \
          .default_value = "3",                                                                   \
          .min = 1,                                                                               \
          .max = 3,                                                                               \
          .doc = "3: red, green, blue; 1: grey" },                                                \
        { .name = "resize",                                                                       \
          .type = CSE_SETTING_INTEGER,                                                            \
          .default_value = "null",                                                                \
          .min = 1,                                                                               \
          .max = 16384,                                                                           \
          .doc = "the shorter side before the middle of image_size is cut out; null: the whole "  \
                 "picture becomes image_size" },                                                  \
        { .name = "reduced_decoding",                                                             \
          .type = CSE_SETTING_BOOL,                                                               \
          .default_value = "false",                                                               \
          .doc = "JPEG of twice the pixels that are used or more is decoded at 1/2, 1/4 or 1/8 "  \
                 "of its size: faster, and other values, as with Pillow's draft()" },             \
        { .name = "random_resized_crop",                                                          \
          .type = CSE_SETTING_BOOL,                                                               \
          .default_value = "false",                                                               \
          .doc = "a part of the picture, chosen by chance, becomes image_size" },                 \
        { .name = "crop_scale",                                                                   \
          .type = CSE_SETTING_NUMBER_LIST,                                                        \
          .default_value = "[0.08, 1.0]",                                                         \
          .doc = "the least and the greatest share of the picture that this part has" },          \
        { .name = "horizontal_flip",                                                              \
          .type = CSE_SETTING_BOOL,                                                               \
          .default_value = "false",                                                               \
          .doc = "every other picture, chosen by chance, is mirrored" },                          \
        CSE_AUGMENTATION_SETTINGS,                                                                \
        { .name = "augmentation_seed",                                                            \
          .type = CSE_SETTING_INTEGER,                                                            \
          .default_value = "0",                                                                   \
          .doc = "what chance decides is a function of it, the epoch and the sample" },           \
        { .name = "mean",                                                                         \
          .type = CSE_SETTING_NUMBER_LIST,                                                        \
          .default_value = "[0.485, 0.456, 0.406]",                                               \
          .doc =                                                                                  \
              "subtracted from each channel after division by 255: one number or one for each" }, \
    {                                                                                             \
        .name = "std", .type = CSE_SETTING_NUMBER_LIST, .default_value = "[0.229, 0.224, 0.225]", \
        .doc = "divides each channel after that: one number or one for each"                      \
    }

typedef struct cse_image_transform {
    int height, width, channels, resize; /* resize 0: none */
    bool crops_by_chance, flips_by_chance, turns, reduces;
    double crop_scale[2];
    uint64_t seed;
    cse_augmentations augmentations;
    float value_of_byte[3][256];
    cse_resizer resizer;
    unsigned char *pixels; /* of the picture in its new size */
    size_t capacity;
    unsigned char *augmented; /* [2, height, width, 3]; NULL: bytes are not augmented */
} cse_image_transform;

/* Reads CSE_IMAGE_SETTINGS; CSE_CONFIG. Release with cse_image_transform_clear. */
cse_status cse_image_transform_open(const cse_settings *settings, cse_image_transform *transform);
void cse_image_transform_clear(cse_image_transform *transform);
/* From now on nothing is decided by chance. */
void cse_image_transform_leave_chance(cse_image_transform *transform);
cse_shape cse_image_transform_shape(const cse_image_transform *transform);

/* A picture's file, and the pixels that are made of it. */
typedef struct cse_picture_source {
    cse_image_decoder *decoder;
    const unsigned char *bytes;
    size_t size;
    cse_image *image;
} cse_picture_source;

/* `values` [channels, height, width]. CSE_DATA for what cse_image_decode refuses and for a picture
 * so narrow that it would become too large. */
cse_status cse_image_transform_read(cse_image_transform *transform,
                                    const cse_picture_source *source, int64_t epoch, int64_t sample,
                                    float *values);

#endif

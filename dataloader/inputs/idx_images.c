/* Images and labels of MNIST and its relatives (idx_pictures.h), under the engine's own name. */
#include "dataloader/inputs/idx_pictures.h"
#include "dataloader/inputs/labelled.h"

static const cse_setting settings_table[] = {
    { .name = "data_dir",
      .type = CSE_SETTING_PATH,
      .default_value = CSE_FASHION_MNIST_FOLDER,
      .doc = "directory of the idx files, each plain or with .gz" },
    { .name = "split",
      .type = CSE_SETTING_CHOICE,
      .default_value = "train",
      .choices = "train|test",
      .doc = "train reads train-*-ubyte, test reads t10k-*-ubyte" },
    { .name = "flatten",
      .type = CSE_SETTING_BOOL,
      .default_value = "true",
      .doc = "images as [height * width] instead of [1, height, width]" },
    CSE_IDX_PICTURE_SETTINGS,
    { 0 },
};

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
    .open = cse_idx_pictures_open,
    .read = cse_idx_pictures_read,
    .locate = cse_idx_pictures_locate,
    .close = cse_idx_pictures_close,
    .samples = samples,
    .describe = cse_idx_pictures_describe,
};

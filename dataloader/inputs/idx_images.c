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

const cse_input_descriptor cse_input_idx_images = {
    .name = "idx_images",
    .summary = "images and labels from idx files (MNIST, Fashion-MNIST)",
    .settings = settings_table,
    .open = cse_idx_pictures_open,
    .read = cse_idx_pictures_read,
    .locate = cse_idx_pictures_locate,
    .close = cse_idx_pictures_close,
    .describe = cse_idx_pictures_describe,
};

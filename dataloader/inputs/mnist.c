/* The ModelZoo's MNISTDataProcessor: idx_pictures.h under its name and keys. */
#include "csengine/modules.h"
#include "dataloader/inputs/idx_pictures.h"
#include "dataloader/inputs/labelled.h"

static const cse_setting settings_table[] = {
    { .name = "data_dir",
      .type = CSE_SETTING_PATH,
      .doc =
          "folder of the idx files, each plain or with .gz, or a folder with MNIST/raw in it, as "
          "torchvision makes it" },
    { .name = "split",
      .type = CSE_SETTING_CHOICE,
      .default_value = "train",
      .choices = "train|val",
      .doc = "train reads train-*-ubyte, val reads t10k-*-ubyte" },
    { .name = "flatten",
      .type = CSE_SETTING_BOOL,
      .default_value = "false",
      .doc = "images as [784] instead of [1, 28, 28]" },
    CSE_UNSUPPORTED_SETTING("drop_last_batch", "true", "drop_last is the same"),
    { .name = "to_float16",
      .type = CSE_SETTING_ANY,
      .default_value = "null",
      .doc = "no effect: precision.fp16_type says what is rounded" },
    CSE_IDX_PICTURE_SETTINGS,
    { 0 },
};

static cse_status mnist_open(cse_input *input, const cse_settings *settings)
{
    CSE_TRY(cse_refuse_unsupported(settings_table, settings));
    return cse_idx_pictures_open(input, settings);
}

static cse_status mnist_describe(cse_input *input, const cse_settings *settings,
                                 const cse_unseen_data *known)
{
    CSE_TRY(cse_refuse_unsupported(settings_table, settings));
    return cse_idx_pictures_describe(input, settings, known);
}

const cse_input_descriptor cse_input_mnist = {
    .name = "MNISTDataProcessor",
    .summary = "images and labels of MNIST, as the ModelZoo has them",
    .settings = settings_table,
    .open = mnist_open,
    .read = cse_idx_pictures_read,
    .locate = cse_idx_pictures_locate,
    .close = cse_idx_pictures_close,
    .describe = mnist_describe,
};

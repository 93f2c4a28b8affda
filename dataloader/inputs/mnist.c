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

static const cse_input_sample samples[] = {
    { .settings = "data_dir: $folder, split: val, to_float16: true, mean: 0.5, std: 0.25",
      .source = "by hand: (byte / 255 - 0.5) / 0.25",
      .files = { { .name = "MNIST/raw/t10k-images-idx3-ubyte",
                   .text = "\0\0\x08\x03\0\0\0\x0a\0\0\0\x01\0\0\0\x01"
                           "\0\377BCDEFGHI",
                   .size = 16 + 10 },
                 { .name = "MNIST/raw/t10k-labels-idx1-ubyte",
                   .text = "\0\0\x08\x01\0\0\0\x0a\0\1\2\3\4\5\6\7\x08\x09",
                   .size = 8 + 10 } },
      .sample_count = 10,
      .value_count = 3,
      .values = { { CSE_FEATURES_STREAM, 0, 0, -2 },
                  { CSE_FEATURES_STREAM, 1, 0, 2 },
                  { CSE_ANSWERS_STREAM, 9, 0, 9 } } },
    { .settings = "data_dir: $folder, drop_last_batch: false", .refusal = "drop_last_batch" },
    { .settings = "data_dir: $folder", .refusal = "no such file" },
    { .settings = NULL },
};

const cse_input_descriptor cse_input_mnist = {
    .name = "MNISTDataProcessor",
    .summary = "images and labels of MNIST, as the ModelZoo has them",
    .settings = settings_table,
    .open = mnist_open,
    .read = cse_idx_pictures_read,
    .locate = cse_idx_pictures_locate,
    .close = cse_idx_pictures_close,
    .samples = samples,
    .describe = mnist_describe,
};

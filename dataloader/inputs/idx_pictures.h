/* Images and labels from the idx files of the MNIST family, under whatever name. */
#ifndef CSE_DATALOADER_INPUTS_IDX_PICTURES_H
#define CSE_DATALOADER_INPUTS_IDX_PICTURES_H

#include "dataloader/input.h"

#define CSE_FASHION_MNIST_FOLDER "/usr/share/datasets/fashion-mnist"

/* Rows for the table of an input function, which has data_dir, split (train, or another word for
 * the files t10k-*) and flatten, too. */
#define CSE_IDX_PICTURE_SETTINGS                                                             \
    { .name = "mean",                                                                        \
      .type = CSE_SETTING_NUMBER,                                                            \
      .default_value = "0.1307",                                                             \
      .min = -1e6,                                                                           \
      .max = 1e6,                                                                            \
      .doc = "subtracted from each pixel after division by 255" },                           \
        { .name = "std",                                                                     \
          .type = CSE_SETTING_NUMBER,                                                        \
          .default_value = "0.3081",                                                         \
          .min = 1e-6,                                                                       \
          .max = 1e6,                                                                        \
          .doc = "divides each pixel after the mean is subtracted" },                        \
    {                                                                                        \
        .name = "num_classes", .type = CSE_SETTING_INTEGER, .default_value = "10", .min = 1, \
        .max = 256, .doc = "labels must be from 0 to num_classes - 1"                        \
    }

cse_status cse_idx_pictures_open(cse_input *input, const cse_settings *settings);
cse_status cse_idx_pictures_describe(cse_input *input, const cse_settings *settings,
                                     const cse_unseen_data *known);
cse_status cse_idx_pictures_read(cse_input *input, const int64_t *indices, int64_t count,
                                 void *const outputs[]);
void cse_idx_pictures_locate(const cse_input *input, const cse_element_place *place, char *text,
                             size_t size);
void cse_idx_pictures_close(cse_input *input);

#endif

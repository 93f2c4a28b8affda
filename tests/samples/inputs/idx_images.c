/* Samples of idx_images, with independent values. */
#include "dataloader/inputs/labelled.h"
#include "tests/samples/samples.h"

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

CSE_SAMPLES(input, idx_images, samples);

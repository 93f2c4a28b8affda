/* Samples of mnist, with independent values. */
#include "dataloader/inputs/labelled.h"
#include "tests/samples/samples.h"

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

CSE_SAMPLES(input, mnist, samples);

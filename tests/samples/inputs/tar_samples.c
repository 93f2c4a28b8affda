/* Samples of tar_samples, with independent values. */
#include "dataloader/inputs/labelled.h"
#include "tests/samples/samples.h"

#include "tests/samples/inputs/tar_samples.h"

/* The archive ten times; each has two samples. */
#define ARCHIVES                                                                        \
    {                                                                                   \
        { .name = "shard-*.tar", .text = tar_archive, .size = sizeof tar_archive - 1 }, \
    }

static const cse_input_sample samples[] = {
    { .settings = "path: $folder, image_size: [2, 2], mean: [0], std: [1]",
      .source = "Python's tarfile (tests/reference/tar_samples.py)",
      .files = ARCHIVES,
      .sample_count = 20,
      .value_count = 5,
      .values = { { CSE_FEATURES_STREAM, 0, 0, 10 / 255.0f },
                  { CSE_FEATURES_STREAM, 19, 11, 30 / 255.0f },
                  { CSE_ANSWERS_STREAM, 0, 0, 3 },
                  { CSE_ANSWERS_STREAM, 1, 0, 4 },
                  { CSE_ANSWERS_STREAM, 18, 0, 3 } } },
    { .settings = "path: $folder, label: json", .refusal = "no member of a .tar" },
    { .settings = "path: $folder/shard-0.tar",
      .refusal = "offset 0: no header of a tar archive",
      .files = { { .name = "shard-0.tar", .text = tar_archive + 1, .size = 2048 } } },
    { .settings = "path: $folder/shard-0.tar",
      .refusal = "the archive is not whole",
      .files = { { .name = "shard-0.tar", .text = tar_archive, .size = 600 } } },
    { .settings = "path: $folder/shard-0.tar",
      .refusal = "no tar archive",
      .files = { { .name = "shard-0.tar", .text = "x" } } },
    { .settings = "path: $folder/a.tar",
      .refusal = "a.tar.idx: \"512 9999999 a.png\"",
      .files = { { .name = "a.tar", .text = tar_archive, .size = sizeof tar_archive - 1 },
                 { .name = "a.tar.idx", .text = "512 9999999 a.png\n" } } },
    { .settings = NULL },
};

CSE_SAMPLES(input, tar_samples, samples);

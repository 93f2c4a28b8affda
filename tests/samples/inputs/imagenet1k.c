/* Samples of imagenet1k, with independent values. */
#include "tests/samples/samples.h"

#include "tests/samples/inputs/image_folder.h"

static const cse_input_sample samples[] = {
    { STEPS_0 },
    { STEPS_1 },
    { .settings = "data_dir: $folder, image_size: [4, 3], transforms: [{name: color_jitter}]",
      .refusal = "no step that is known" },
    { .settings =
          "data_dir: $folder, image_size: [4, 3], transforms: [{name: resize, size: [4, 4]}, "
          "{name: to_tensor}]",
      .refusal = "of 4 x 4" },
    { .settings =
          "data_dir: $folder, image_size: [4, 3], transforms: [{name: resize, size: [4, 3]}]",
      .refusal = "to_tensor is missing" },
    { .settings =
          "data_dir: $folder, image_size: [4, 3], transforms: [{name: resize, size: [4, 3]}, "
          "{name: to_tensor}]",
      .refusal = "cannot list the folder" },
    { .settings = NULL },
};

CSE_SAMPLES(input, imagenet1k, samples);

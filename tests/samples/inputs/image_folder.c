/* Samples of image_folder, with independent values. */
#include "tests/samples/samples.h"

#include "tests/samples/inputs/image_folder.h"

static const cse_input_sample samples[] = {
    { PICTURES_0 },
    { PICTURES_1 },
    { PICTURES_2 },
    { .settings = "data_dir: $folder, num_classes: 3",
      .refusal = "2 folders of classes",
      .files = PICTURES },
    { .settings = "data_dir: $folder", .refusal = "a folder of pictures for each class" },
    { .settings = "data_dir: $folder, resize: 100", .refusal = "at least each side" },
    { .settings = "data_dir: $folder, std: [1, 0, 1]", .refusal = "numbers above 0" },
    { .settings = NULL },
};

CSE_SAMPLES(input, image_folder, samples);

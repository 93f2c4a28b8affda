/* Samples of synthetic, with independent values. */
#include "dataloader/inputs/labelled.h"
#include "tests/samples/samples.h"

static const cse_input_sample samples[] = {
    { .settings = "samples: 10000000000, features: [2, 3], classes: 4, seed: 5",
      .source = "tests/reference/inputs.py",
      .sample_count = 10000000000,
      .value_count = 9,
      .values = { { CSE_FEATURES_STREAM, 0, 0, -1.71122897 },
                  { CSE_FEATURES_STREAM, 0, 5, -0.440804392 },
                  { CSE_FEATURES_STREAM, 9, 2, -0.153415069 },
                  { CSE_FEATURES_STREAM, 8589934593, 4, 0.775387645 },
                  { CSE_ANSWERS_STREAM, 0, 0, 3 },
                  { CSE_ANSWERS_STREAM, 1, 0, 1 },
                  { CSE_ANSWERS_STREAM, 2, 0, 0 },
                  { CSE_ANSWERS_STREAM, 9, 0, 0 },
                  { CSE_ANSWERS_STREAM, 8589934593, 0, 1 } } },
    { .settings =
          "samples: 40, features: [5], regression: true, seed: 4294967303, features_name: x",
      .source = "tests/reference/inputs.py",
      .sample_count = 40,
      .value_count = 6,
      .values = { { CSE_FEATURES_STREAM, 0, 4, 0.304234833 },
                  { CSE_ANSWERS_STREAM, 0, 0, -0.384808451 },
                  { CSE_FEATURES_STREAM, 1, 4, 1.20018029 },
                  { CSE_ANSWERS_STREAM, 1, 0, 0.350752771 },
                  { CSE_FEATURES_STREAM, 9, 4, 1.67700553 },
                  { CSE_ANSWERS_STREAM, 9, 0, 1.95503402 } } },
    { .settings = "features: [0]", .refusal = "features" },
    { .settings = NULL },
};

CSE_SAMPLES(input, synthetic, samples);

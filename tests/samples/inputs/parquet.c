/* Samples of parquet, with independent values. */
#include "dataloader/inputs/labelled.h"
#include "tests/samples/samples.h"

#include "tests/samples/inputs/arrow.h"

/* Values of Parquet are held by tests/dataloader/check_tables.sh, where a Python can write it. */
static const cse_input_sample samples[] = {
    { .settings = "path: $folder/a.arrow, label: label, features: [small, flag], std: [2, 1]",
      .source = "pyarrow (tests/reference/arrow.py)",
      .files = { { .name = "a.arrow", .text = stream_form, .size = sizeof stream_form - 1 } },
      .sample_count = 12,
      .value_count = 3,
      .values = { { CSE_FEATURES_STREAM, 9, 0, -4.5 },
                  { CSE_FEATURES_STREAM, 3, 1, 1 },
                  { CSE_ANSWERS_STREAM, 5, 0, 2 } } },
    { .settings = "path: $folder/a.arrow, label: label",
      .refusal = "name the columns of single numbers with features",
      .files = { { .name = "a.arrow", .text = stream_form, .size = sizeof stream_form - 1 } } },
    { .settings = "path: $folder/a.parquet, label: y",
      .refusal = "a.parquet",
      .files = { { .name = "a.parquet", .text = "x,y\n1,0\n" } } },
    { .settings = "path: $folder/a.parquet, label: y", .refusal = "cannot open" },
    { .settings = NULL },
};

CSE_SAMPLES(input, parquet, samples);

/* Samples of csv, with independent values. */
#include "dataloader/inputs/labelled.h"
#include "tests/samples/samples.h"

static const char table[] =
    "width,kind,height\n1,0,10\n2,2,20\n3,1,-30\n4.5,0,0\n5,1,1e2\n6,0,0.5\n"
    "7,2,7\n8,1,-0.25\n9,2,90\n10,0,100\n";

static const char words[] =
    "width,kind\n1,cat\n2,dog\n3,\"a fox\"\n4,cat\n5,cat\n6,dog\n7,dog\n8,cat\n"
    "9,a fox\n10,cat\n";

static const cse_input_sample samples[] = {
    { .settings = "path: $folder/words.csv, label: kind, class_names: [cat, dog, a fox]",
      .source = "by hand",
      .files = { { .name = "words.csv", .text = words } },
      .sample_count = 10,
      .value_count = 4,
      .values = { { CSE_FEATURES_STREAM, 1, 0, 2 },
                  { CSE_ANSWERS_STREAM, 0, 0, 0 },
                  { CSE_ANSWERS_STREAM, 5, 0, 1 },
                  { CSE_ANSWERS_STREAM, 8, 0, 2 } } },
    { .settings = "path: $folder/words.csv, label: 1, class_names: [cat, dog]",
      .refusal = "words.csv:4:3: \"a fox\" is none of the 2 class names",
      .files = { { .name = "words.csv", .text = words } } },
    { .settings = "path: $folder/table.csv, label: kind, mean: [2, 0], std: [0.5, 100]",
      .source = "(x - mean) / std by hand",
      .files = { { .name = "table.csv", .text = table } },
      .sample_count = 10,
      .value_count = 8,
      .values = { { CSE_FEATURES_STREAM, 0, 0, -2 },
                  { CSE_FEATURES_STREAM, 3, 0, 5 },
                  { CSE_FEATURES_STREAM, 4, 1, 1 },
                  { CSE_FEATURES_STREAM, 7, 1, -0.0025 },
                  { CSE_ANSWERS_STREAM, 0, 0, 0 },
                  { CSE_ANSWERS_STREAM, 1, 0, 2 },
                  { CSE_ANSWERS_STREAM, 2, 0, 1 },
                  { CSE_ANSWERS_STREAM, 9, 0, 0 } } },
    { .settings = "path: $folder/table.csv, label: 2, regression: true",
      .source = "the file's numbers",
      .files = { { .name = "table.csv", .text = table } },
      .sample_count = 10,
      .value_count = 5,
      .values = { { CSE_FEATURES_STREAM, 0, 1, 0 },
                  { CSE_FEATURES_STREAM, 3, 0, 4.5 },
                  { CSE_ANSWERS_STREAM, 2, 0, -30 },
                  { CSE_ANSWERS_STREAM, 4, 0, 100 },
                  { CSE_ANSWERS_STREAM, 7, 0, -0.25 } } },
    { .settings = "path: $folder/table.csv, label: weight",
      .refusal = "the header has width, kind, height",
      .files = { { .name = "table.csv", .text = table } } },
    { .settings = "path: $folder/table.csv, label: kind", .refusal = "cannot open" },
    { .settings = NULL },
};

CSE_SAMPLES(input, csv, samples);

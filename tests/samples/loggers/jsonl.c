/* Samples of jsonl, with independent values. */
#include "tests/samples/loggers/json_line.h"
#include "tests/samples/samples.h"

/* Written by tests/reference/loggers.py. */
static const cse_logger_sample samples[] = {
    { .settings = "{}",
      .source = "Python's json module",
      .file = "metrics.jsonl",
      .bytes = CSE_JSON_SAMPLE },
    { .settings = "{path: $folder/none/x.jsonl}", .refusal = "cannot be opened" },
    { .settings = NULL },
};

CSE_SAMPLES(logger, jsonl, samples);

/* Samples of command, with independent values. */
#include "tests/samples/loggers/json_line.h"
#include "tests/samples/samples.h"

static const cse_logger_sample samples[] = {
    { .settings = "{program: /bin/sh, arguments: [-c, \"cat >> $folder/input\"]}",
      .source = "Python's json module; tests/reference/loggers.py",
      .file = "input",
      .bytes = CSE_JSON_SAMPLE },
    { .settings = "{program: /nowhere/program}", .refusal = "/nowhere/program cannot be run" },
    { .settings = NULL },
};

CSE_SAMPLES(logger, command, samples);

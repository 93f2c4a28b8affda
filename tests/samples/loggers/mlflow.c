/* Samples of mlflow: what no server takes is kept; tests/run/loggers/check_mlflow_logger.sh has one
 * that does. */
#include "tests/samples/loggers/json_line.h"
#include "tests/samples/samples.h"

/* Written by tests/reference/loggers.py. */
static const cse_logger_sample samples[] = {
    { .settings = "{tracking_uri: \"http://127.0.0.1:9\"}",
      .source = "Python's json module",
      .file = "mlflow_unsent.jsonl",
      .bytes = CSE_JSON_SAMPLE },
    { .settings = "{tracking_uri: \"ftp://x\"}", .refusal = "accepted is http://HOST:PORT" },
    { .settings = "{tracking_uri: \"http://x\", params: [lr]}", .refusal = "KEY=VALUE" },
    { .settings = NULL },
};

CSE_SAMPLES(logger, mlflow, samples);

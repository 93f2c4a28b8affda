/* Samples of progress, with independent values. */
#include "tests/samples/samples.h"

static const cse_logger_sample samples[] = {
    { .settings = "{path: $folder/progress.log}",
      .source = "by hand, from the head of this file",
      .file = "progress.log",
      .bytes =
          "| Step=1, loss=0.5\n| Step=300, val \"accuracy\", %=0.1\n| Step=70000, lr/0=inf\n" },
    { .settings = "{path: $folder/none/x.log}", .refusal = "cannot be opened" },
    { .settings = NULL },
};

CSE_SAMPLES(logger, progress, samples);

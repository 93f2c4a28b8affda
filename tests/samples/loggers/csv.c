/* Samples of csv, with independent values. */
#include "tests/samples/samples.h"

/* Written by tests/reference/loggers.py. */
static const cse_logger_sample samples[] = {
    { .settings = "{}",
      .source = "Python's csv module",
      .file = "metrics.csv",
      .bytes = "step,time_s,name,value\n"
               "1,1700000000.250000,loss,0.5\n"
               "300,1700000001.500000,\"val \"\"accuracy\"\", %\",0.10000000000000001\n"
               "70000,1700000002.750000,lr/0,inf\n" },
    { .settings = "{path: $folder/none/x.csv}", .refusal = "cannot be opened" },
    { .settings = NULL },
};

CSE_SAMPLES(logger, csv, samples);

/* Samples of wandb, with independent values. */
#include "tests/samples/samples.h"

/* Written by tests/reference/loggers.py: three steps, the summary and the end. */
static const cse_logger_sample samples[] = {
    { .settings = "{run_id: abc123}",
      .source = "tests/reference/loggers.py",
      .file = "wandb/offline-run-*/run-abc123.wandb",
      .skipped_bytes = 70, /* the header and the run, which holds the time */
      .bytes = "\2110\257\331Q\000\001\010\003\022M\012\014\012\004loss\202\001\0030.5\012"
               "\034\012\012_timestamp\202\001\0151700000000.25\012\016\012\010_runtime\202"
               "\001\0010\012\013\012\005_step\202\001\0011\022\002\010\001\217\215\263\034"
               "c\000\001\010\004\022_\012\031\012\021val \042accuracy\042, %\202\001\0030"
               ".1\012\033\012\012_timestamp\202\001\0141700000001.5\012\021\012\010_run"
               "time\202\001\0041.25\012\015\012\005_step\202\001\003300\022\003\010\254"
               "\002\003\263\261\344^\000\001\010\005\022Z\012\021\012\004lr/0\202\001\010"
               "Infinity\012\034\012\012_timestamp\202\001\0151700000002.75\012\020\012\010"
               "_runtime\202\001\0032.5\012\017\012\005_step\202\001\00570000\022\004\010"
               "\360\242\004n\017lk@\000\001\010\006\032<\012\014\012\004loss\202\001\0030"
               ".5\012\031\012\021val \042accuracy\042, %\202\001\0030.1\012\021\012\004"
               "lr/0\202\001\010Infinity\241\134\2650\005\000\001\010\007\222\001\000",
      .size = 378 },
    { .settings = "{run_id: ../x}", .refusal = "accepted are letters" },
    { .settings = "{config: [lr]}", .refusal = "KEY=VALUE" },
    { .settings = NULL },
};

CSE_SAMPLES(logger, wandb, samples);

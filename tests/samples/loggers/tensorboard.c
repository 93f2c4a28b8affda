/* Samples of tensorboard, with independent values. */
#include "tests/samples/samples.h"

/* Written by tests/reference/loggers.py: three records. */
static const cse_logger_sample samples[] = {
    { .settings = "{}",
      .source = "tests/reference/loggers.py",
      .file = "events/events.out.tfevents.*",
      .skipped_bytes = 40, /* the record of the version, which holds the time */
      .bytes = "\032\000\000\000\000\000\000\000\022\233\330-\011\000\000\020@\374T\331A"
               "\020\001*\015\012\013\012\004loss\025\000\000\000\077\2317\210\262"
               "(\000\000\000\000\000\000\000\377p\026J\011\000\000`@\374T\331A\020\254\002"
               "*\032\012\030\012\021val \042accuracy\042, %\025\315\314\314=\215\221\310"
               "\035"
               "\034\000\000\000\000\000\000\000\310\301\225\035\011\000\000\260@\374T\331"
               "A\020\360\242\004*\015\012\013\012\004lr/0\025\000\000\200\1771\377\224\252",
      .size = 142 },
    { .settings = "{summary_dir: /dev/null/x}", .refusal = "/dev/null" },
    { .settings = NULL },
};

CSE_SAMPLES(logger, tensorboard, samples);

/* Where the time of a run went: each nanosecond from its start on is in exactly one bin, so that
 * the bins add up to the time that has passed. Goodput is the share of the bin "compute".
 *
 * The account is a clock hand that only moves forward: whoever moves it from one moment to a later
 * one says which bins the time between them belongs to. Steps move it with the times that their
 * processes have noted, exactly; what lies between steps belongs to what the run says it does. A
 * report comes before the step in flight has ended, so what it tells of that one is provisional:
 * until its times are known, all of it counts as compute.
 *
 * It has no clock, thread or memory of its own; times are of any one clock. */
#ifndef CSE_RUN_RECORD_GOODPUT_H
#define CSE_RUN_RECORD_GOODPUT_H

#include <stdbool.h>
#include <stdint.h>

/* X(name, word, description) */
#define CSE_GOODPUT_TABLE(X)                                                                     \
    X(STARTING, "starting", "traces, compiles, starts processes")                                \
    X(COMPUTE, "compute", "computes gradients")                                                  \
    X(INPUT, "input", "replicas wait for input, by the mean of the replicas")                    \
    X(UPDATE, "update", "joins partial sums, updates states")                                    \
    X(COMMUNICATION, "communication", "own sums are complete, those of other hosts are awaited") \
    X(SAVE, "save", "steps wait for a snapshot or a checkpoint")                                 \
    X(VALIDATION, "validation", "evaluates the model")                                           \
    X(RECOVERY, "recovery",                                                                      \
      "from the loss of a process until its successor is ready, and steps that are done again")  \
    X(PAUSED, "paused", "stands still on request")                                               \
    X(IDLE, "idle", "anything else: steps wait for the coordinator, the run ends")

typedef enum cse_goodput_bin {
#define CSE_GOODPUT_ENUM(name, word, doc) CSE_GOODPUT_##name,
    CSE_GOODPUT_TABLE(CSE_GOODPUT_ENUM)
#undef CSE_GOODPUT_ENUM
        CSE_GOODPUT_BINS
} cse_goodput_bin;

/* "starting" */
const char *cse_goodput_bin_name(cse_goodput_bin bin);

/* What is known of a step of training that was committed; as cse_step_times of the arena. */
typedef struct cse_goodput_step_times {
    int64_t committed_ns, computed_ns;
    int64_t held_from_ns, held_until_ns; /* 0: it was not */
    /* Counters since the run began to take steps, as cse_goodput_enter was told; input_wait_ns of
     * all replicas together. */
    int64_t input_wait_ns, exposed_ns;
    int replicas;
    bool again; /* an earlier attempt had done it */
} cse_goodput_step_times;

typedef struct cse_goodput {
    int64_t start_ns, hand_ns;              /* everything between them is in a bin */
    int64_t bin_ns[CSE_GOODPUT_BINS];       /* they add up to hand_ns - start_ns */
    cse_goodput_bin doing;                  /* what the run says; COMPUTE: it takes steps */
    int64_t save_from_ns, save_end_ns;      /* the last save; end INT64_MAX: it lasts */
    bool saved;                             /* one began since the last step */
    int64_t input_wait_ns, exposed_ns;      /* the counters, as last seen */
    int64_t owed_input_ns, owed_exposed_ns; /* counted, and not yet in a bin */
} cse_goodput;

/* The account begins; `doing` as in cse_goodput_enter. */
void cse_goodput_begin(cse_goodput *account, cse_goodput_bin doing, int64_t now_ns);
/* From now on the run does something else: STARTING, COMPUTE (takes steps: their counters begin at
 * 0), VALIDATION, RECOVERY, PAUSED or IDLE (it ends; steps still count as steps). */
void cse_goodput_enter(cse_goodput *account, cse_goodput_bin doing, int64_t now_ns);
/* A checkpoint is being written, and the coordinator waits for it, or no longer does. */
void cse_goodput_save(cse_goodput *account, bool saving, int64_t now_ns);
/* Steps come in order; one whose time is in a bin already moves nothing. */
void cse_goodput_step(cse_goodput *account, const cse_goodput_step_times *step);

/* The account as it would be if nothing else came before `now_ns`. */
cse_goodput cse_goodput_until(const cse_goodput *account, int64_t now_ns);
/* The bins in milliseconds, none negative, which add up to the time that has passed in whole
 * milliseconds. */
void cse_goodput_milliseconds(const cse_goodput *account, int64_t milliseconds[CSE_GOODPUT_BINS]);

#endif

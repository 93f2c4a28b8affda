/* The states of a run and their transitions: one table for the run store, the server's job control,
 * the command line and the documentation.
 *
 * An attempt is one start of a run. A terminal state never changes within an attempt; the next
 * attempt begins with one of the initial states. */
#ifndef CSE_STORE_STATES_H
#define CSE_STORE_STATES_H

#include <stdbool.h>
#include <stddef.h>

#include "csengine/status.h"

/* X(name, terminal, initial, the states that may follow, description) */
#define CSE_RUN_STATE_TABLE(X)                                                              \
    X(QUEUED, 0, 1, "COMPILING STARTING CANCELLING CANCELLED FAILED", "waits for its turn") \
    X(COMPILING, 0, 1, "STARTING CANCELLING SUCCEEDED FAILED CANCELLED",                    \
      "the step is traced and compiled")                                                    \
    X(STARTING, 0, 1, "COMPILING RUNNING RECOVERING CANCELLING SUCCEEDED FAILED CANCELLED", \
      "its processes start and load")                                                       \
    X(RUNNING, 0, 0,                                                                        \
      "PAUSING RECOVERING CANCELLING SUCCEEDED FAILED "                                     \
      "CANCELLED",                                                                          \
      "steps are taken")                                                                    \
    X(PAUSING, 0, 0, "PAUSED RUNNING RECOVERING CANCELLING SUCCEEDED FAILED CANCELLED",     \
      "the step in flight is finished")                                                     \
    X(PAUSED, 0, 0, "RUNNING RECOVERING CANCELLING FAILED CANCELLED",                       \
      "stands still, its processes are there")                                              \
    X(RECOVERING, 0, 0,                                                                     \
      "RUNNING STARTING PAUSING PAUSED CANCELLING SUCCEEDED FAILED "                        \
      "CANCELLED",                                                                          \
      "a process was lost and is replaced")                                                 \
    X(CANCELLING, 0, 0, "SUCCEEDED FAILED CANCELLED", "ends on request")                    \
    X(SUCCEEDED, 1, 0, "", "all steps are done")                                            \
    X(FAILED, 1, 0, "", "ended by a failure; the reason says which")                        \
    X(CANCELLED, 1, 0, "", "ended on request")

typedef enum cse_run_state {
#define CSE_RUN_STATE_ENUM(name, terminal, first, followers, doc) CSE_RUN_##name,
    CSE_RUN_STATE_TABLE(CSE_RUN_STATE_ENUM)
#undef CSE_RUN_STATE_ENUM
        CSE_RUN_STATE_COUNT,
    CSE_RUN_NONE = -1 /* before the first */
} cse_run_state;

/* What a run does in its state: RUNNING takes steps of training or of a validation, or writes a
 * checkpoint; other states say it themselves. X(name, word, description) */
#define CSE_RUN_PHASE_TABLE(X)                                                           \
    X(COMPILE, "compile", "the step is traced and compiled")                             \
    X(START, "start", "its processes start and load")                                    \
    X(TRAIN, "train", "steps of training are taken")                                     \
    X(VALIDATE, "validate", "the model is evaluated on the validation data")             \
    X(SAVE, "save", "a checkpoint is written; a training in progress goes on meanwhile") \
    X(STORAGE, "storage", "waits for room for its last checkpoint")                      \
    X(RECOVER, "recover", "a process was lost and is replaced")                          \
    X(PAUSED, "paused", "stands still on request, in training or in a validation")

typedef enum cse_run_phase {
#define CSE_RUN_PHASE_ENUM(name, word, doc) CSE_RUN_PHASE_##name,
    CSE_RUN_PHASE_TABLE(CSE_RUN_PHASE_ENUM)
#undef CSE_RUN_PHASE_ENUM
        CSE_RUN_PHASE_COUNT,
    CSE_RUN_PHASE_NONE = -1 /* queued or ended */
} cse_run_phase;

/* X(name, retryable, exit code of the process, description): why a run is FAILED */
#define CSE_RUN_REASON_TABLE(X)                                                                \
    X(CONFIG, 0, 78, "the configuration is wrong")                                             \
    X(COMPILE, 0, 1, "the step cannot be compiled")                                            \
    X(NO_RESOURCES, 1, 75, "memory, processes or cores are short")                             \
    X(SYSTEM_LIMIT, 0, 71, "a limit of the system is below what the run needs")                \
    X(PEER_LOST, 1, 69, "a process or host of the run was lost")                               \
    X(DATA, 0, 65, "input data are missing or wrong")                                          \
    X(REFUSED, 0, 77, "it may not do or reach what it asks for")                               \
    X(NUMERICS, 0, 1, "loss or gradients are not finite, or the loss scale is at its floor")   \
    X(DIVERGED, 0, 1, "the loss of the last steps is far above that of the first")             \
    X(STORAGE, 1, 74, "a disk is full or does not answer")                                     \
    X(CANNOT_CREATE, 0, 73, "a file or folder of its own cannot be made under its name")       \
    X(TIME_LIMIT, 0, 124, "its job_time_sec is over; the steps that were done are saved")      \
    X(PREEMPTED, 1, 75, "a scheduler asked for its place; the steps that were done are saved") \
    X(PROGRAM, 0, 1, "a program that is the job ended with an exit code of its own")           \
    X(INTERNAL, 0, 70, "a fault of csengine")                                                  \
    X(INTERRUPTED, 1, 130, "the run's process ended without a report")

typedef enum cse_run_reason {
#define CSE_RUN_REASON_ENUM(name, retryable, exit_code, doc) CSE_REASON_##name,
    CSE_RUN_REASON_TABLE(CSE_RUN_REASON_ENUM)
#undef CSE_RUN_REASON_ENUM
        CSE_RUN_REASON_COUNT
} cse_run_reason;

/* "RUNNING"; "" for CSE_RUN_NONE. */
const char *cse_run_state_name(cse_run_state state);
const char *cse_run_state_doc(cse_run_state state);
/* CSE_RUN_NONE for an unknown name and for NULL. */
cse_run_state cse_run_state_of(const char *name);
bool cse_run_state_is_terminal(cse_run_state state);
/* Whether `to` may follow `from` within an attempt; from CSE_RUN_NONE: whether it is an
 * initial state. */
bool cse_run_state_may_follow(cse_run_state from, cse_run_state to);

/* "train"; NULL for CSE_RUN_PHASE_NONE. */
const char *cse_run_phase_name(cse_run_phase phase);
const char *cse_run_phase_doc(cse_run_phase phase);
/* CSE_RUN_PHASE_NONE for an unknown word and for NULL. */
cse_run_phase cse_run_phase_of(const char *word);
/* The phase of a run in `state` that last reported `activity` (TRAIN, VALIDATE, SAVE or STORAGE;
 * any other counts as TRAIN). */
cse_run_phase cse_run_phase_in(cse_run_state state, cse_run_phase activity);

const char *cse_run_reason_name(cse_run_reason reason);
const char *cse_run_reason_doc(cse_run_reason reason);
/* CSE_REASON_INTERNAL for an unknown name. */
cse_run_reason cse_run_reason_of(const char *name);
bool cse_run_reason_retryable(cse_run_reason reason);
int cse_run_reason_exit_code(cse_run_reason reason);
/* The reason for a failure with this status; `compiling`: before its processes were started. Both
 * are retryable, or neither. */
cse_run_reason cse_run_reason_of_status(cse_status status, bool compiling);
/* The reason for an end with this exit code, without more to go by: that of the first status with
 * it. CSE_RUN_REASON_COUNT: no status has it. */
cse_run_reason cse_run_reason_of_exit_code(int exit_code);
/* "64, 65": exit codes of the reason's failures beside its own; "". */
void cse_run_reason_other_exit_codes(cse_run_reason reason, char *text, size_t size);

#endif

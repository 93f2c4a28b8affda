/* A sweep as its folder tells it, read without its file of settings: the first line of trials.jsonl
 * holds that, and each further one what was found of a trial. For those who look at a sweep that
 * another process trains, or trained. */
#ifndef CSE_RUN_SWEEP_SWEEP_LOG_H
#define CSE_RUN_SWEEP_SWEEP_LOG_H

#include "run/sweep/sweep_state.h"

typedef struct cse_sweep_entry {
    int trial;       /* from 0 */
    int64_t time_ms; /* 0: the line says none */
    cse_sweep_result result;
} cse_sweep_entry;

typedef struct cse_sweep_log {
    cse_sweep_plan plan;
    cse_sweep_state state; /* after the last line; it is not open */
    cse_sweep_entry *entries;
    int count;
    int unreadable;     /* lines that tell of no trial of the plan */
    int64_t updated_ms; /* of the file */
    bool alive;         /* a process trains it */
} cse_sweep_log;

/* In `arena`, which the log needs as long as it is used. CSE_NO_INPUT: there is no trials.jsonl;
 * CSE_DATA: it is none. */
cse_status cse_sweep_log_read(const char *folder, cse_arena *arena, cse_sweep_log *log);

/* Which trials are trained to the rung that is not complete: their number; *rung is plan.rungs
 * where all are complete. In `trials` of plan.trials. */
int cse_sweep_log_members(const cse_sweep_log *log, int *rung, int *trials);

#endif

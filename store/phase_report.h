/* What a run does and what recoveries have cost it: the payload of a `phase` event and the value of
 * the key `phase` of the table `run`. The state alone does not say it: a RUNNING run trains,
 * validates or writes a checkpoint, and a recovery is over before anybody looks. */
#ifndef CSE_STORE_PHASE_REPORT_H
#define CSE_STORE_PHASE_REPORT_H

#include <stdint.h>

#include "engine/base/text.h"
#include "store/states.h"

typedef struct cse_phase_report {
    cse_run_phase activity; /* TRAIN, VALIDATE or SAVE, as the run reports it */
    cse_run_phase phase;    /* what follows from the activity and the state */
    int64_t since_ms;
    int64_t step, steps; /* batches of the validation that is under way; steps 0: none is */
    /* Recoveries of all attempts: how often, and for how long a process was missing. Times in which
     * several were missing count once. */
    int64_t recovery_count, recovery_ms;
    int64_t last_recovery_ms; /* when the last process was lost */
    int64_t last_cost_ms;
    char last_process[64], last_reason[192];
} cse_phase_report;

/* Appends {"attempt","phase","since_ms","step","steps","recovery":{"count","milliseconds",
 * "last":{"time_ms","process","milliseconds","reason"}}}; phase, step, steps and last may be
 * null. */
void cse_phase_report_json(const cse_phase_report *report, int64_t attempt, cse_text *out);
/* Takes the recoveries of a report in JSON, if it is one. */
void cse_phase_report_take_recoveries(cse_phase_report *report, const char *json);

#endif

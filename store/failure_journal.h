/* What a run store lacks while it cannot be written: model_dir/run.behind.
 *
 * On a full disk nothing new goes into run.db, yet those who watch must see that training goes on
 * and that its records do not. So one block is taken from the disk when the store is opened, and
 * while writes fail it is written over in place, which needs no room: since when and why nothing is
 * written, how far the run is, what waits in memory and what was dropped. It is blank while the
 * store has everything, and stays behind a run whose last records never found room. */
#ifndef CSE_STORE_FAILURE_JOURNAL_H
#define CSE_STORE_FAILURE_JOURNAL_H

#include <jansson.h>

#include "store/states.h"
#include "store/writer.h"

/* Takes the block, blank; -1 when there is no room for it: then it is tried again when it is
 * needed. */
int cse_failure_journal_open(const char *model_dir);
/* Says how the store stands now; `error` is why the last write failed. */
void cse_failure_journal_write(cse_store *store, const char *error);
/* The store has everything again. */
void cse_failure_journal_clear(cse_store *store);
/* At the end of the run: removes the file, unless it still says something. */
void cse_failure_journal_close(cse_store *store);

/* What the file says; NULL when it is blank, not there, or being written for too long. The
 * caller's. Members:
 *     attempt, since_ms, last_step, waiting_rows   integers
 *     message                                      why it cannot be written
 *     lost       {"points":..,"logs":..,"closures":..,"samples":..}: dropped so far, for good
 *     transition [time_ms, state, reason, message], when the last one is not in run.db
 *     latest     {"loss":[step, value, least],...}: the newest points, with the least value of the
 *                series in this attempt; one that is no finite number is a string */
json_t *cse_failure_journal_read(const char *model_dir);

/* The transition in what was read; its texts live as long as that does. False when there is none
 * to a known state. */
typedef struct cse_failure_journal_transition {
    int64_t time_ms;
    cse_run_state to;
    const char *reason, *message;
} cse_failure_journal_transition;
bool cse_failure_journal_last_transition(const json_t *behind,
                                         cse_failure_journal_transition *last);

#endif

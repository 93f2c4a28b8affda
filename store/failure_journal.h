/* The write-failure journal, model_dir/run.behind: what run.db lacks while it cannot be written.
 *
 * On a full disk run.db cannot grow, but readers must see that training continues and that its
 * records do not reach the disk. So one disk block is allocated when the store is opened, and is
 * overwritten in place while writes fail, which needs no further room. It says since when and why
 * nothing is written, the run's step and state, what waits in memory and what was dropped. It is
 * blank while run.db is complete; it remains if the last records of a run were never written. */
#ifndef CSE_STORE_FAILURE_JOURNAL_H
#define CSE_STORE_FAILURE_JOURNAL_H

#include <jansson.h>

#include "store/rows.h"
#include "store/states.h"

typedef struct cse_failure_journal {
    char *model_dir; /* NULL: not open */
    int file;        /* -1: no room for the block yet; tried again when needed */
    bool is_set;     /* the block is not blank */
    uint64_t writes;
} cse_failure_journal;

/* The newest point of a series in this attempt, and the least value of the series so far. */
typedef struct cse_latest {
    const char *name; /* borrowed; NULL: no point yet */
    int64_t step;
    double value, least;
} cse_latest;

/* Why and since when nothing is written, and what is missing. */
typedef struct cse_write_failure {
    int64_t attempt, since_ms, last_step;
    const char *message;
    const cse_dropped *lost;
    const cse_text *waiting;  /* rows, see store/rows.h */
    const cse_latest *latest; /* by series */
    int latest_count;
} cse_write_failure;

void cse_failure_journal_open(cse_failure_journal *journal, const char *model_dir);
void cse_failure_journal_write(cse_failure_journal *journal, const cse_write_failure *failure);
/* Blanks the block: run.db is complete again. */
void cse_failure_journal_clear(cse_failure_journal *journal);
/* At the end of the run: removes the file, unless it still says that something is missing. */
void cse_failure_journal_close(cse_failure_journal *journal);

/* The journal's content, owned by the caller; NULL when it is blank, missing, or half written for
 * too long. Members:
 *     attempt, since_ms, last_step, waiting_rows   integers
 *     message                                      why it cannot be written
 *     lost       {"points":..,"logs":..,"closures":..,"samples":..,"events":..}: dropped for good
 *     transition [time_ms, state, reason, message], when the last one is not in run.db
 *     latest     {"loss":[step, value, least],...}: the newest points, with the least value of the
 *                series in this attempt; one that is no finite number is a string */
json_t *cse_failure_journal_read(const char *model_dir);

/* The transition in a journal that was read; its texts are borrowed from that. False when there is
 * none to a known state. */
typedef struct cse_failure_journal_transition {
    int64_t time_ms;
    cse_run_state to;
    const char *reason, *message;
} cse_failure_journal_transition;
bool cse_failure_journal_last_transition(const json_t *entry, cse_failure_journal_transition *last);

#endif

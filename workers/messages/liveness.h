/* Liveness: asking all workers at once, with a deadline (nanomsg SURVEY).
 *
 * A dead process is the launcher's business. This finds the frozen one: stopped, hung in the
 * kernel, swapped out for good. The coordinator asks every interval; a worker that leaves `misses`
 * questions in a row unanswered gets a verdict, and whoever reads the verdict kills it before
 * anything of it is taken over. One missed question means nothing: a survey may be lost. */
#ifndef CSE_WORKERS_MESSAGES_LIVENESS_H
#define CSE_WORKERS_MESSAGES_LIVENESS_H

#include <stdint.h>

#include "csengine/status.h"

typedef struct cse_liveness cse_liveness;

typedef struct cse_liveness_options {
    const char *endpoint; /* ipc:///path */
    int slot_count;
    int64_t interval_ns; /* from one question to the next; also the deadline of the answers */
    int misses;          /* 1 or more */
} cse_liveness_options;

/* CSE_UNAVAILABLE when the endpoint cannot be made. */
cse_status cse_liveness_open(const cse_liveness_options *options, cse_liveness **liveness);
void cse_liveness_close(cse_liveness **liveness);

/* From the first answer of this incarnation on, or from `expect` on, the slot's silence counts;
 * until then it is only starting. Answers of earlier incarnations no longer count. */
void cse_liveness_watch(cse_liveness *liveness, int slot, int incarnation);
void cse_liveness_expect(cse_liveness *liveness, int slot, int incarnation);
void cse_liveness_forget(cse_liveness *liveness, int slot);

/* Never blocks: takes answers, closes a survey whose time is up, asks the next when due. Returns a
 * slot whose silence has lasted (once for each watch), or -1. Call until it returns -1. */
int cse_liveness_poll(cse_liveness *liveness, int64_t now_ns);

/* The answering side: a thread that does nothing else, so that a long unit of work is no
 * silence. */
typedef struct cse_respondent cse_respondent;
cse_status cse_respondent_start(const char *endpoint, int slot, int incarnation,
                                cse_respondent **respondent);
void cse_respondent_stop(cse_respondent **respondent);

#endif

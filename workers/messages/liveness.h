/* Liveness: asking all workers at once, with a deadline (nanomsg SURVEY).
 *
 * The launcher detects ended processes; this detects frozen ones: stopped, hung in the kernel, or
 * thrashing. The coordinator asks every interval. A worker that leaves `misses` consecutive
 * questions unanswered is reported as frozen, and the caller kills it before recovering its work.
 * A single missed question means nothing, since a survey may be lost. */
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

/* Missing answers of the slot are counted from the first answer of this incarnation, or from
 * `expect`, on; until then it is starting. Answers of earlier incarnations are ignored. */
void cse_liveness_watch(cse_liveness *liveness, int slot, int incarnation);
void cse_liveness_expect(cse_liveness *liveness, int slot, int incarnation);
void cse_liveness_forget(cse_liveness *liveness, int slot);

/* Never blocks: receives answers, ends a survey at its deadline, sends the next when due. Returns a
 * frozen slot (once for each watch), or -1. Call until it returns -1. */
int cse_liveness_poll(cse_liveness *liveness, int64_t now_ns);

/* The answering side: a thread of its own, so that a long unit of work delays no answer. */
typedef struct cse_respondent cse_respondent;
cse_status cse_respondent_start(const char *endpoint, int slot, int incarnation,
                                cse_respondent **respondent);
void cse_respondent_stop(cse_respondent **respondent);

#endif

/* Whether all hosts have the same records: a record that differs is a silent corruption on some
 * host.
 *
 * Hosts tell their leader the digests of their records as they come, which is at different times;
 * each is compared with the leader's own once both are there. Those that come more than
 * CSE_RECORD_CHECK_STEPS apart are not compared. */
#ifndef CSE_WORKERS_GROUP_RECORD_CHECK_H
#define CSE_WORKERS_GROUP_RECORD_CHECK_H

#include <stdbool.h>
#include <stdint.h>

enum { CSE_RECORD_CHECK_STEPS = 4096 };

/* Of the step `step`, counted from 0, of an execution, counted from 1. */
typedef struct cse_record_digest {
    int64_t execution, step;
    uint64_t digest;
} cse_record_digest;

typedef struct cse_record_check cse_record_check;

cse_record_check *cse_record_check_new(int host_count, int own);
void cse_record_check_destroy(cse_record_check **check);

void cse_record_check_note(cse_record_check *check, int host, const cse_record_digest *digest);
/* The first that was found; false: none so far. */
bool cse_record_check_differs(const cse_record_check *check, int *host, int64_t *step);
/* Of the hosts that have told their record of that step: how many, and the one whose record is
 * another than that of all others; -1: with fewer than three nobody can say. */
int cse_record_check_accused(const cse_record_check *check, int *told);

#endif

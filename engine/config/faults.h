/* What is wrong with a configuration, all of it.
 *
 * A check that fails ends at its first fault unless it is handed a collector: then it hands the
 * fault over and goes on with the next setting, so that one look at a file tells every mistake
 * that does not follow from another. */
#ifndef CSE_CONFIG_FAULTS_H
#define CSE_CONFIG_FAULTS_H

#include "csengine/status.h"

/* Where a check stops: nobody mends more at once. */
enum { CSE_MOST_FAULTS = 50 };

typedef struct cse_faults {
    char *messages[CSE_MOST_FAULTS]; /* in the order in which they were found */
    int count;
} cse_faults;

/* What a check does after a step that ended with `status`: CSE_OK when it may go on, `status` when
 * it must end. A fault (CSE_CONFIG) is taken over with the thread's message while there is room;
 * other failures, and all where `faults` is NULL, are returned. */
cse_status cse_faults_take(cse_faults *faults, cse_status status);

/* CSE_OK when nothing was taken over (or `faults` is NULL); else CSE_CONFIG with the message of the
 * first. */
cse_status cse_faults_end(const cse_faults *faults);

void cse_faults_clear(cse_faults *faults);

#endif

/* What is wrong with a configuration, all of it.
 *
 * A check that fails ends at its first fault unless it is handed a collector: then it hands the
 * fault over and goes on with the next setting, so that one look at a file tells every mistake
 * that does not follow from another. */
#ifndef CSE_BASE_DIAGNOSTICS_H
#define CSE_BASE_DIAGNOSTICS_H

#include "csengine/status.h"

/* Where a check stops: nobody mends more at once. */
enum { CSE_MAX_DIAGNOSTICS = 50 };

typedef struct cse_diagnostics {
    char *messages[CSE_MAX_DIAGNOSTICS]; /* in the order in which they were found */
    int count;
} cse_diagnostics;

/* What a check does after a step that ended with `status`: CSE_OK when it may go on, `status` when
 * it must end. A fault (CSE_CONFIG) is taken over with the thread's message while there is room;
 * other failures, and all where `diagnostics` is NULL, are returned. */
cse_status cse_diagnostics_take(cse_diagnostics *diagnostics, cse_status status);

/* CSE_OK when nothing was taken over (or `diagnostics` is NULL); else CSE_CONFIG with the message of the
 * first. */
cse_status cse_diagnostics_end(const cse_diagnostics *diagnostics);

void cse_diagnostics_clear(cse_diagnostics *diagnostics);

#endif

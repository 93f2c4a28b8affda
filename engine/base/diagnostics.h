/* Everything that is wrong with a configuration, as values.
 *
 * A check that fails ends at its first error unless it is handed a collector: then it hands the
 * error over and goes on with the next setting, so that one check of a file tells every mistake
 * that does not follow from another. */
#ifndef CSE_BASE_DIAGNOSTICS_H
#define CSE_BASE_DIAGNOSTICS_H

#include "csengine/status.h"

/* Where a check stops: nobody mends more at once. */
enum { CSE_MAX_DIAGNOSTICS = 50 };

typedef struct cse_diagnostics {
    cse_error *errors[CSE_MAX_DIAGNOSTICS]; /* in the order in which they were found */
    int count;
} cse_diagnostics;

/* What a check does after a step that ended with `status`: CSE_OK when it may go on, `status` when
 * it must end. An error of the configuration (CSE_CONFIG) is copied from the thread's last failure
 * while there is room; other failures, and all where `diagnostics` is NULL, are returned. */
cse_status cse_diagnostics_take(cse_diagnostics *diagnostics, cse_status status);

/* CSE_OK when nothing was collected (or `diagnostics` is NULL); else the first error becomes the
 * thread's last failure, and CSE_CONFIG is returned. */
cse_status cse_diagnostics_end(const cse_diagnostics *diagnostics);

void cse_diagnostics_clear(cse_diagnostics *diagnostics);

#endif

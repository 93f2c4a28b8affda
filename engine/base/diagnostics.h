/* All errors of a configuration, as values.
 *
 * A check without a collector ends at its first error. With one it records the error and continues
 * with the next setting, so that one check reports every mistake that does not follow from
 * another. */
#ifndef CSE_BASE_DIAGNOSTICS_H
#define CSE_BASE_DIAGNOSTICS_H

#include "csengine/status.h"

/* A check stops after this many errors. */
enum { CSE_MAX_DIAGNOSTICS = 50 };

typedef struct cse_diagnostics {
    cse_error *errors[CSE_MAX_DIAGNOSTICS]; /* in the order in which they were found */
    int count;
} cse_diagnostics;

/* Tells a check whether to go on after a step that ended with `status`: CSE_OK, or the status to
 * return. A configuration error (CSE_CONFIG) is copied from the thread's last failure, and the
 * check goes on until the collector is full. Other failures, and all where `diagnostics` is NULL,
 * end it. */
cse_status cse_diagnostics_take(cse_diagnostics *diagnostics, cse_status status);

/* CSE_OK when nothing was collected (or `diagnostics` is NULL); else the first error becomes the
 * thread's last failure, and CSE_CONFIG is returned. */
cse_status cse_diagnostics_end(const cse_diagnostics *diagnostics);

void cse_diagnostics_clear(cse_diagnostics *diagnostics);

#endif

/* What a failed call on a file means, by its errno: whether the same call may succeed later, and
 * whose business the failure is. One rule for all files that a run reads and writes, so that the
 * same cause has the same exit code wherever it strikes. */
#ifndef CSE_BASE_FILE_STATUS_H
#define CSE_BASE_FILE_STATUS_H

#include "csengine/status.h"

/* Making or writing: CSE_PERMISSION (not allowed, read-only), CSE_IO (the disk: full, over quota,
 * failing), CSE_TEMPORARY (descriptors or memory), else CSE_CANNOT_CREATE (the name: no such
 * folder, taken, too long). */
cse_status cse_status_of_writing(int error);

/* Opening or reading: CSE_NO_INPUT (it is not there), CSE_PERMISSION, CSE_TEMPORARY, else CSE_IO.
 */
cse_status cse_status_of_reading(int error);

#endif

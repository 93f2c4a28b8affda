/* Copies out of mapped files, which another process may shorten while they are mapped: pages beyond
 * their end answer with SIGBUS, which ends a process that does not expect it. */
#ifndef CSE_BASE_GUARDED_COPY_H
#define CSE_BASE_GUARDED_COPY_H

#include <stdbool.h>
#include <stddef.h>

/* Takes SIGBUS; signals that come from elsewhere go to who had it before. Call it before the first
 * copy, and again after another handler was set. */
void cse_guarded_copy_prepare(void);

/* False: some of the bytes cannot be read; what is at `to` may be anything then. */
bool cse_guarded_copy(void *to, const void *from, size_t size);

#endif

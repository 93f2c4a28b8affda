/* Opening a path below a folder, so that nothing in the path leads out of it: no "..", no symbolic
 * link to elsewhere, no link that the kernel makes ("/proc/self/fd/3"), whatever is exchanged while
 * the path is being resolved. */
#ifndef CSE_BASE_BENEATH_H
#define CSE_BASE_BENEATH_H

#include <stdio.h>
#include <sys/types.h>

/* Opens `path`, relative to the directory `folder`, with O_CLOEXEC; `mode` for O_CREAT. Returns a
 * descriptor, or -1 with errno as open sets it; EXDEV: the path leads out of the folder. Symbolic
 * links that stay in the folder are followed. */
int cse_open_beneath(int folder, const char *path, int flags, mode_t mode);

/* The same without the system call that does it at once, for kernels that lack it: component by
 * component; it refuses every symbolic link and every "..", also with EXDEV. */
int cse_open_beneath_stepwise(int folder, const char *path, int flags, mode_t mode);

/* Makes the directory `path` and those above it below `folder`; those that are there are accepted.
 * 0, or -1 with errno. */
int cse_make_beneath(int folder, const char *path, mode_t mode);

/* Opens a file, by its name in a folder that a job may write to, in a process that is not confined
 * like the job: a regular file and no symbolic link. -1 with errno; ELOOP: it is something else. */
int cse_open_plain(const char *path, int flags, mode_t mode);
/* The same, to be read; NULL with errno. */
FILE *cse_open_plain_stream(const char *path);

#endif

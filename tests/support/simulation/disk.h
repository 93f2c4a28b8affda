/* A disk that fails and a host that crashes, below real files.
 *
 * The calls by which a program changes files go through here (disk_calls.h). They are carried out
 * on real files, and those below the watched folder are kept in a log. From the log the state of
 * the disk after a crash at any call is made in another folder: what was synchronised stands; of
 * all else a seed decides. Writes survive as a whole, as a prefix, as some of their blocks, or not
 * at all, and changes of a folder up to any one of them.
 *
 * A call can also fail (no room, an I/O error), or write less than it was given, and a process that
 * is killed changes nothing any more, whatever it still calls. */
#ifndef CSE_TESTS_SIMULATION_DISK_H
#define CSE_TESTS_SIMULATION_DISK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { DISK_PATH_BYTES = 4400, DISK_DESCRIPTORS = 4096 };

typedef struct disk_faults {
    long fails_at;       /* the call with this number, from 0, fails; -1: none does */
    long calls;          /* so many after it, too; LONG_MAX: all */
    int error;           /* its errno */
    long short_at;       /* the write with this number takes only half; -1: none */
    bool dead;           /* the process has been killed */
    void (*point)(void); /* before each change; it may set `dead`. May be NULL */
} disk_faults;

/* Of the calls that change something below the watched folder. */
extern disk_faults disk_fault;

/* What is below the folder now stands for good; the log is empty. NULL: nothing is watched. */
void disk_watch(const char *folder);
/* How many changes the log holds, and calls there were. */
long disk_log_length(void);
long disk_calls(void);
/* How many calls have failed. */
long disk_failures(void);
/* Makes in `folder`, which is empty, what a crash after the first `length` changes leaves. */
void disk_crash(long length, uint64_t seed, const char *folder);
/* One change of the log, for people. */
const char *disk_log_text(long at);

/* ---- for disk_calls.h: as the C library's ---- */

int disk_open(int directory, const char *path, int flags, mode_t mode);
ssize_t disk_write(int descriptor, const void *data, size_t size);
ssize_t disk_pwrite(int descriptor, const void *data, size_t size, off_t offset);
int disk_truncate(int descriptor, off_t size);
int disk_sync(int descriptor);
int disk_rename(const char *from, const char *to, bool exchange);
int disk_unlink(int directory, const char *path, int flags);
int disk_mkdir(const char *path, mode_t mode);
char *disk_mkdtemp(char *template);
int disk_close(int descriptor);

#endif

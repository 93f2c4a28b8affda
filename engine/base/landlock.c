/* Rights and structs as the kernel's interface has them (Documentation/userspace-api/landlock.rst);
 * written here because the headers of the system may be older than its kernel. */
#include "engine/base/landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "engine/base/arena.h"

enum { CALL_CREATE = 444, CALL_ADD_RULE = 445, CALL_RESTRICT = 446 }; /* on every architecture */
enum { QUERY_VERSION = 1, RULE_PATH_BENEATH = 1 };

enum {
    FS_EXECUTE = 1 << 0,
    FS_WRITE_FILE = 1 << 1,
    FS_READ_FILE = 1 << 2,
    FS_READ_DIR = 1 << 3,
    FS_REMOVE_DIR = 1 << 4,
    FS_REMOVE_FILE = 1 << 5,
    FS_MAKE_DIR = 1 << 7,
    FS_MAKE_REG = 1 << 8,
    FS_MAKE_SOCK = 1 << 9,
    FS_MAKE_SYM = 1 << 12,
    FS_VERSION_1 = (1 << 13) - 1,
    FS_REFER = 1 << 13,     /* version 2: rename and link between folders */
    FS_TRUNCATE = 1 << 14,  /* version 3 */
    FS_IOCTL_DEV = 1 << 15, /* version 5 */
    NET_TCP = 3,            /* version 4: bind, connect */
    SCOPES = 3              /* version 6: abstract unix sockets, signals */
};

typedef struct ruleset_attribute {
    uint64_t file_system, network, scoped;
} ruleset_attribute;

typedef struct path_attribute {
    uint64_t allowed;
    int32_t parent;
} __attribute__((packed)) path_attribute;

struct cse_landlock {
    int ruleset;
    uint64_t handled;
};

int cse_landlock_version(void)
{
    long version = syscall(CALL_CREATE, NULL, 0, QUERY_VERSION);
    return version > 0 ? (int)version : 0;
}

cse_landlock *cse_landlock_new(bool connects)
{
    const int version = cse_landlock_version();
    if (version == 0)
        return NULL;
    ruleset_attribute wanted = { .file_system = FS_VERSION_1 };
    size_t size = sizeof wanted.file_system;
    if (version >= 2)
        wanted.file_system |= FS_REFER;
    if (version >= 3)
        wanted.file_system |= FS_TRUNCATE;
    if (version >= 4) {
        wanted.network = connects ? 0 : NET_TCP;
        size += sizeof wanted.network;
    }
    if (version >= 5)
        wanted.file_system |= FS_IOCTL_DEV;
    if (version >= 6) {
        wanted.scoped = SCOPES;
        size += sizeof wanted.scoped;
    }
    int ruleset = (int)syscall(CALL_CREATE, &wanted, size, 0);
    if (ruleset < 0)
        return NULL;
    cse_landlock *landlock = cse_calloc(1, sizeof *landlock);
    *landlock = (cse_landlock){ .ruleset = ruleset, .handled = wanted.file_system };
    return landlock;
}

void cse_landlock_allow(cse_landlock *landlock, const char *path, cse_landlock_access access)
{
    static const uint64_t rights[] = {
        [CSE_LANDLOCK_LIST] = FS_READ_DIR,
        [CSE_LANDLOCK_READ] = FS_READ_FILE | FS_READ_DIR,
        [CSE_LANDLOCK_EXECUTE] = FS_READ_FILE | FS_READ_DIR | FS_EXECUTE,
        [CSE_LANDLOCK_WRITE] = FS_READ_FILE | FS_READ_DIR | FS_WRITE_FILE | FS_REMOVE_DIR |
                               FS_REMOVE_FILE | FS_MAKE_DIR | FS_MAKE_REG | FS_MAKE_SOCK |
                               FS_MAKE_SYM | FS_REFER | FS_TRUNCATE,
    };
    const uint64_t of_files = FS_EXECUTE | FS_READ_FILE | FS_WRITE_FILE | FS_TRUNCATE;
    struct stat facts;
    int descriptor = landlock != NULL ? open(path, O_PATH | O_CLOEXEC) : -1;
    if (descriptor < 0)
        return;
    path_attribute rule = { .allowed = rights[access] & landlock->handled, .parent = descriptor };
    if (fstat(descriptor, &facts) == 0 && !S_ISDIR(facts.st_mode))
        rule.allowed &= of_files;
    syscall(CALL_ADD_RULE, landlock->ruleset, RULE_PATH_BENEATH, &rule, 0);
    close(descriptor);
}

cse_status cse_landlock_enforce(cse_landlock **landlock)
{
    if (*landlock == NULL)
        return CSE_OK;
    long failed = syscall(CALL_RESTRICT, (*landlock)->ruleset, 0);
    int error = errno;
    close((*landlock)->ruleset);
    free(*landlock);
    *landlock = NULL;
    return failed == 0 ? CSE_OK
                       : cse_fail(CSE_UNAVAILABLE, "the job cannot be confined: Landlock: %s",
                                  strerror(error));
}

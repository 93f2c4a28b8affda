/* Opens data under a watch, and looks at the end whether they are still the same. */
#include "dataloader/data_watch.h"

#include "engine/base/confinement.h"
#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define SECOND_NS INT64_C(1000000000)
#define SETTLED_NS (2 * SECOND_NS)

/* Input functions have read what they keep when they return: a file that changed meanwhile may have
 * been read in part before that and in part after it. */
static cse_status check_still_same(const cse_data_file *file)
{
    cse_data_file now;
    int descriptor = cse_confined_open(file->is_code ? CSE_PATH_LIBRARY : CSE_PATH_INPUT,
                                       file->path, O_RDONLY | O_NONBLOCK, 0);
    bool same = descriptor >= 0 && cse_data_file_examine(descriptor, file->path, &now) == CSE_OK &&
                cse_data_file_same_facts(file, &now);
    if (descriptor >= 0)
        close(descriptor);
    return same ? CSE_OK
                : cse_fail(CSE_DATA,
                           "%s: the file changed while it was read; start the run again when it "
                           "is complete",
                           file->path);
}

/* A file that was changed a moment ago could be changed again without another time of change: its
 * content is compared at every open, as one whose time of change is not known. */
static void forget_fresh_times(cse_data_identity *identity)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    for (int i = 0; i < identity->count; i++)
        if (identity->files[i].opened &&
            now.tv_sec * SECOND_NS + now.tv_nsec - identity->files[i].changed_ns < SETTLED_NS)
            identity->files[i].changed_ns = 0;
}

cse_status cse_data_open(const cse_settings *settings, uint64_t default_seed,
                         const cse_data_watch *wanted, cse_dataloader **loader)
{
    cse_data_identity *identity = wanted->identity;
    for (int i = 0; i < identity->count; i++)
        identity->files[i].opened = false;
    cse_data_watch_set(wanted);
    cse_status status = cse_dataloader_open(settings, default_seed, loader);
    cse_data_watch_set(NULL);
    for (int i = 0; i < identity->count && status == CSE_OK; i++)
        if (identity->files[i].opened)
            status = check_still_same(&identity->files[i]);
    forget_fresh_times(identity);
    if (status != CSE_OK && *loader != NULL)
        cse_dataloader_close(loader);
    return status;
}

/* The scratch memories in use, by owner; see scratch.h. There is one for each open executable, so a
 * list is fast enough. */
#include "engine/code/kernels/scratch.h"

#include <pthread.h>
#include <stdlib.h>

#include "engine/base/arena.h"

enum { PAGE_BYTES = 4096 };

struct cse_scratch {
    const void *owner;
    void *place;
    size_t size;
    int users;
    cse_scratch *next;
};

static cse_scratch *in_use;
static pthread_mutex_t in_use_lock = PTHREAD_MUTEX_INITIALIZER;

/* The content is not kept. */
static void grow(cse_scratch *scratch, size_t size)
{
    free(scratch->place);
    scratch->size = size;
    scratch->place = cse_aligned_calloc(size);
}

cse_scratch *cse_scratch_share(const void *owner, size_t bytes)
{
    pthread_mutex_lock(&in_use_lock);
    cse_scratch *scratch = in_use;
    while (scratch != NULL && scratch->owner != owner)
        scratch = scratch->next;
    if (scratch == NULL) {
        scratch = cse_calloc(1, sizeof *scratch);
        *scratch = (cse_scratch){ .owner = owner, .next = in_use };
        in_use = scratch;
    }
    scratch->users++;
    size_t size = (bytes / PAGE_BYTES + 1) * PAGE_BYTES;
    if (size > scratch->size)
        grow(scratch, size);
    pthread_mutex_unlock(&in_use_lock);
    return scratch;
}

void cse_scratch_release(cse_scratch **scratch)
{
    cse_scratch *old = *scratch;
    *scratch = NULL;
    if (old == NULL)
        return;
    pthread_mutex_lock(&in_use_lock);
    if (--old->users == 0) {
        cse_scratch **at = &in_use;
        while (*at != old)
            at = &(*at)->next;
        *at = old->next;
        free(old->place);
        free(old);
    }
    pthread_mutex_unlock(&in_use_lock);
}

size_t cse_scratch_bytes(const void *owner)
{
    size_t bytes = 0;
    pthread_mutex_lock(&in_use_lock);
    for (const cse_scratch *scratch = in_use; scratch != NULL; scratch = scratch->next)
        if (scratch->owner == owner)
            bytes = scratch->size;
    pthread_mutex_unlock(&in_use_lock);
    return bytes;
}

void *cse_scratch_view(const cse_scratch *scratch)
{
    return scratch->place;
}

/* A ring by step for each host. */
#include "workers/group/record_check.h"

#include <stdlib.h>

#include "engine/base/arena.h"

struct cse_record_check {
    int host_count, own;
    bool differs;
    int host;
    int64_t step;
    cse_record_digest rings[]; /* [host_count][CSE_RECORD_CHECK_STEPS]; execution 0: none */
};

cse_record_check *cse_record_check_new(int host_count, int own)
{
    const size_t count = (size_t)host_count * CSE_RECORD_CHECK_STEPS;
    cse_record_check *check = cse_calloc(1, sizeof *check + count * sizeof check->rings[0]);
    check->host_count = host_count;
    check->own = own;
    return check;
}

void cse_record_check_destroy(cse_record_check **check)
{
    free(*check);
    *check = NULL;
}

static cse_record_digest *place_of(cse_record_check *check, int host, int64_t step)
{
    return &check->rings[(size_t)host * CSE_RECORD_CHECK_STEPS +
                         (size_t)(step % CSE_RECORD_CHECK_STEPS)];
}

static void compare(cse_record_check *check, int host, const cse_record_digest *digest)
{
    const cse_record_digest *own = place_of(check, check->own, digest->step);
    const cse_record_digest *other = place_of(check, host, digest->step);
    if (check->differs || own->execution != other->execution || own->execution == 0 ||
        own->step != other->step || own->digest == other->digest)
        return;
    check->differs = true;
    check->host = host;
    check->step = digest->step;
}

void cse_record_check_note(cse_record_check *check, int host, const cse_record_digest *digest)
{
    *place_of(check, host, digest->step) = *digest;
    for (int h = 0; h < check->host_count; h++)
        if (h != check->own && (host == check->own || h == host))
            compare(check, h, digest);
}

bool cse_record_check_differs(const cse_record_check *check, int *host, int64_t *step)
{
    *host = check->host;
    *step = check->step;
    return check->differs;
}

int cse_record_check_accused(const cse_record_check *check, int *told)
{
    const size_t place = (size_t)(check->step % CSE_RECORD_CHECK_STEPS);
    const cse_record_digest *own = &check->rings[check->own * CSE_RECORD_CHECK_STEPS + (int)place];
    int with_own = 0, others = 0, last_other = -1;
    uint64_t other = 0;
    bool agree = true;
    *told = 0;
    for (int h = 0; check->differs && h < check->host_count; h++) {
        const cse_record_digest *of = &check->rings[(size_t)h * CSE_RECORD_CHECK_STEPS + place];
        if (of->step != check->step || of->execution != own->execution)
            continue;
        ++*told;
        with_own += of->digest == own->digest;
        if (of->digest == own->digest)
            continue;
        agree = agree && (others == 0 || of->digest == other);
        other = of->digest;
        others++;
        last_other = h;
    }
    if (*told < 3 || !agree || (others > 1 && with_own > 1))
        return -1;
    return others == 1 ? last_other : check->own;
}

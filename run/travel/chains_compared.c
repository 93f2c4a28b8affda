/* Stretch by stretch, since most runs that differ do so early. */
#include "run/travel/chains_compared.h"

#include <string.h>

#include "run/travel/run_chain.h"

enum { STRETCH = 50000 };

/* The last step of a run. */
static cse_status end_of(const char *model_dir, int64_t *last)
{
    cse_store_reader *reader = NULL;
    cse_run_status status;
    CSE_TRY(cse_store_reader_open(model_dir, &reader));
    const cse_status result = cse_store_reader_status(reader, &status);
    cse_store_reader_close(&reader);
    *last = result == CSE_OK ? status.last_step : 0;
    return result;
}

static int64_t last_of(const cse_run_chain *chain)
{
    return chain->count > 0 ? chain->steps[chain->count - 1].steps : 0;
}

/* The last step of both that is before `end`, or 0. */
static int64_t last_common(const cse_run_chain chains[2], int64_t end)
{
    const int64_t first = chains[0].count > 0 ? chains[0].steps[0].steps : 1;
    int64_t step = last_of(&chains[0]) < end ? last_of(&chains[0]) : end - 1;
    while (step >= first && (cse_run_chain_at(&chains[0], step) == NULL ||
                             cse_run_chain_at(&chains[1], step) == NULL))
        step--;
    return step >= first ? step : 0;
}

static void compare_stretch(const cse_run_chain chains[2], cse_chains_compared *compared)
{
    int64_t common = 0;
    compared->differs = cse_run_chain_differs(&chains[0], &chains[1], &common);
    compared->common += common;
    const int64_t last = last_common(chains, compared->differs > 0 ? compared->differs : INT64_MAX);
    if (last > 0)
        compared->same_to = last;
    if (compared->differs == 0)
        return;
    const cse_chain_step *a = cse_run_chain_at(&chains[0], compared->differs);
    const cse_chain_step *b = cse_run_chain_at(&chains[1], compared->differs);
    compared->samples_differ = memcmp(a->samples, b->samples, sizeof a->samples) != 0;
}

cse_status cse_chains_compare(const char *const model_dirs[2], cse_chains_compared *compared)
{
    int64_t ends[2] = { 0, 0 };
    *compared = (cse_chains_compared){ .common = 0 };
    for (int r = 0; r < 2; r++)
        CSE_TRY(end_of(model_dirs[r], &ends[r]));
    const int64_t end = ends[0] < ends[1] ? ends[0] : ends[1];
    cse_status status = CSE_OK;
    for (int64_t first = 1; status == CSE_OK && first <= end && compared->differs == 0;
         first += STRETCH) {
        cse_run_chain chains[2] = { { .count = 0 }, { .count = 0 } };
        for (int r = 0; r < 2 && status == CSE_OK; r++)
            status = cse_run_chain_read(model_dirs[r], first, first + STRETCH - 1, &chains[r]);
        if (status == CSE_OK)
            compare_stretch(chains, compared);
        for (int r = 0; r < 2; r++)
            cse_run_chain_clear(&chains[r]);
    }
    return status;
}

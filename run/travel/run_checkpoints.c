/* The chain stands in the seal of a checkpoint, so that its values need not be read. */
#include "run/travel/run_checkpoints.h"

#include <inttypes.h>
#include <limits.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/text.h"
#include "engine/formats/checkpoint/checkpoint.h"
#include "engine/formats/checkpoint/sealed_file.h"

/* The chain in the seal of a checkpoint; false: it cannot be read. */
static bool read_chain(const char *path, cse_text *chain)
{
    int descriptor = -1;
    cse_sealed_reader *reader = NULL;
    if (cse_checkpoint_open(path, &descriptor) != CSE_OK)
        return false;
    const bool good = cse_sealed_reader_open(descriptor, path, &reader) == CSE_OK;
    if (good && cse_sealed_reader_view(reader)->chain != NULL)
        cse_text_add(chain, "%s", cse_sealed_reader_view(reader)->chain);
    if (good)
        cse_sealed_reader_close(&reader);
    close(descriptor);
    return good;
}

/* As cse_step_chain_text prints it. */
static bool is_chain_of(const cse_text *stored, const cse_chain_step *row)
{
    char wanted[128], digits[2 * CSE_CHAIN_BYTES + 1];
    sodium_bin2hex(digits, sizeof digits, row->chain, CSE_CHAIN_BYTES);
    snprintf(wanted, sizeof wanted, "%" PRId64 " %s", row->steps, digits);
    return strcmp(wanted, stored->data) == 0;
}

static bool is_of_run(const char *model_dir, const cse_run_chain *chain, int64_t step)
{
    char path[PATH_MAX];
    const cse_chain_step *row = cse_run_chain_at(chain, step);
    cse_text stored = { 0 };
    cse_checkpoint_path(model_dir, step, path, sizeof path);
    bool good = read_chain(path, &stored);
    if (good && row != NULL && stored.size > 0)
        good = is_chain_of(&stored, row);
    cse_text_clear(&stored);
    return good;
}

bool cse_checkpoint_is_of_step(const char *path, const cse_chain_step *row)
{
    cse_text stored = { 0 };
    const bool good = read_chain(path, &stored) && stored.size > 0 && is_chain_of(&stored, row);
    cse_text_clear(&stored);
    return good;
}

bool cse_run_checkpoint_before(const char *model_dir, const cse_run_chain *chain, int64_t step,
                               int64_t *found)
{
    int64_t *steps = NULL;
    int count = 0;
    bool any = false;
    if (cse_checkpoint_steps(model_dir, &steps, &count) != CSE_OK)
        return false;
    for (int i = 0; i < count && !any; i++) {
        *found = steps[i];
        any = steps[i] <= step && is_of_run(model_dir, chain, steps[i]);
    }
    free(steps);
    return any;
}

bool cse_checkpoint_has_chain(const char *path)
{
    cse_text chain = { 0 };
    const bool has = read_chain(path, &chain) && chain.size > 0;
    cse_text_clear(&chain);
    return has;
}

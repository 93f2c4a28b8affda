/* Checkpoints whose file was removed by others. The writer's thread checks for them when an attempt
 * begins, after each new checkpoint and at the end. A file counts as gone when it is
 * neither where it was written nor under its name in the run's directory, which may have moved. */
#include "store/sweep.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static bool is_missing(const char *path)
{
    return access(path, F_OK) != 0 && (errno == ENOENT || errno == ENOTDIR);
}

static bool is_gone(const cse_store *store, const char *path)
{
    const char *name = strrchr(path, '/');
    cse_text beside = { 0 };
    cse_text_add(&beside, "%s/%s", store->model_dir, name != NULL ? name + 1 : path);
    bool gone = is_missing(path) && is_missing(beside.data);
    cse_text_clear(&beside);
    return gone;
}

static void take_checkpoint(void *self, const cse_row *row)
{
    cse_store *store = self;
    const cse_field *f = row->fields;
    if (f[4].text != NULL && is_gone(store, f[4].text))
        cse_row_add(&store->taken, CSE_ROW_CHECKPOINT, f[0].integer, f[1].integer, f[2].integer,
                    f[3].integer, f[4].text, f[5].integer, f[6].text, f[7].integer, f[8].integer,
                    INT64_C(1));
}

void cse_store_sweep(cse_store *store)
{
    cse_database_checkpoints(store->database, take_checkpoint, store);
    store->sweep = false;
}

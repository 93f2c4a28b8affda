/* A run's own process wants the shapes of tables alone, which the program tells; rows are read by
 * input workers, which are processes of the program. */
#include "dataloader/formats/hdf5_table.h"

#include <stdlib.h>

#include "client/ask.h"
#include "engine/base/arena.h"

struct cse_hdf5_table {
    const char *path;
    cse_shape shape;
};

/* "RANK DIM DIM ..." */
static bool take_shape(const cse_text *answer, cse_shape *shape)
{
    char *at = answer->data;
    const long rank = at != NULL ? strtol(at, &at, 10) : -1;
    bool good = rank >= 0 && rank <= CSE_MAX_RANK;
    shape->rank = good ? (int)rank : 0;
    for (int i = 0; i < shape->rank && good; i++) {
        char *end;
        shape->dims[i] = strtoll(at, &end, 10);
        good = end > at && shape->dims[i] >= 0;
        at = end;
    }
    return good;
}

cse_status cse_hdf5_table_open(int descriptor, const char *path, const char *name,
                               cse_hdf5_table **table)
{
    const char *const words[] = { "table", name, path, NULL };
    cse_text answer = { 0 };
    cse_shape shape;
    *table = NULL;
    cse_status status = cse_client_ask(words, descriptor, -1, &answer);
    if (status == CSE_OK && !take_shape(&answer, &shape))
        status = cse_fail(CSE_INTERNAL, "%s: the program csengine told no shape of it", path);
    cse_text_clear(&answer);
    CSE_TRY(status);
    *table = cse_calloc(1, sizeof **table);
    **table = (cse_hdf5_table){ .path = path, .shape = shape };
    return CSE_OK;
}

void cse_hdf5_table_close(cse_hdf5_table **table)
{
    free(*table);
    *table = NULL;
}

cse_shape cse_hdf5_table_shape(const cse_hdf5_table *table)
{
    return table->shape;
}

bool cse_hdf5_table_place(const cse_hdf5_table *table, const int64_t *starts, const int64_t *counts,
                          cse_dtype dtype, cse_hdf5_piece *piece)
{
    (void)table;
    (void)starts;
    (void)counts;
    (void)dtype;
    (void)piece;
    return false;
}

cse_status cse_hdf5_table_read(const cse_hdf5_table *table, const int64_t *starts,
                               const int64_t *counts, cse_dtype dtype, void *values)
{
    (void)starts;
    (void)counts;
    (void)dtype;
    (void)values;
    return cse_fail(CSE_UNAVAILABLE,
                    "%s: the client library reads no rows of HDF5 files: the input workers of a "
                    "run do, and `csengine data inspect`",
                    table->path);
}

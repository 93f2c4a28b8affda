/* Maps the index of each tracked tensor of the graph to its row number in the store. */
#include "run/record/statistics_rows.h"

#include <stdlib.h>

#include "engine/base/arena.h"
#include "engine/base/text.h"
#include "engine/code/execute/tensor_statistics.h"

struct cse_statistics_rows {
    const cse_graph *graph;
    cse_store *store;
    int64_t *tensors, *updates; /* row numbers by tracked tensor; 0: no row */
};

static const char *kind_of(const cse_graph *graph, const cse_tracked_tensor *o)
{
    switch (o->kind) {
    case CSE_TRACKED_CAST:
        return "cast";
    case CSE_TRACKED_GRADIENT:
        return "gradient";
    case CSE_TRACKED_STATE:
        return graph->states[o->node->attributes.integers[0]].trainable ? "weight" : "state";
    default:
        return "observed";
    }
}

static int64_t add_tensor(const cse_statistics_rows *rows, const cse_tracked_tensor *o, bool update)
{
    const bool state = o->kind == CSE_TRACKED_STATE;
    cse_text name = { 0 };
    cse_text_add(&name, "%s%s", o->name, update ? ".update" : "");
    const int64_t number = cse_store_tensor(
        rows->store,
        &(cse_tensor_row){ .name = name.data,
                           .scope = o->node->scope,
                           .op = state && !update ? "state" : o->op,
                           .kind = kind_of(rows->graph, o),
                           .source_dtype = cse_dtype_name(o->source),
                           .dtype = cse_dtype_name(o->node->dtype),
                           .backward = o->node->backward || o->kind == CSE_TRACKED_GRADIENT,
                           .file = o->node->file,
                           .line = o->node->line });
    cse_text_clear(&name);
    return number;
}

/* Row numbers follow execution order, so updates come last. */
static void add_tensors(cse_statistics_rows *rows)
{
    const cse_graph *graph = rows->graph;
    for (int i = 0; i < graph->tracked_count; i++)
        rows->tensors[i] = add_tensor(rows, &graph->tracked[i], false);
    for (int i = 0; i < graph->tracked_count; i++)
        if (graph->tracked[i].kind == CSE_TRACKED_STATE)
            rows->updates[i] = add_tensor(rows, &graph->tracked[i], true);
}

static void digest_bytes(uint64_t digest, unsigned char bytes[8])
{
    for (int i = 0; i < 8; i++)
        bytes[i] = (unsigned char)(digest >> (56 - 8 * i));
}

/* The bins up to the last that is not empty, as 64-bit little-endian counts. */
static size_t histogram_bytes(const cse_tensor_statistics *record, unsigned char bytes[])
{
    int bins = CSE_EXPONENT_BINS;
    while (bins > 0 && record->exponents[bins - 1] == 0)
        bins--;
    for (int i = 0; i < bins * 8; i++)
        bytes[i] = (unsigned char)(record->exponents[i / 8] >> (i % 8 * 8));
    return (size_t)bins * 8;
}

/* Of weights; a point among the series of the run, at the steps with statistics. */
static void add_ratio(const cse_statistics_rows *rows, int i, int64_t step,
                      const cse_tensor_statistics *record)
{
    cse_text name = { 0 };
    const cse_tracked_tensor *o = &rows->graph->tracked[i];
    if (!rows->graph->states[o->node->attributes.integers[0]].trainable)
        return;
    cse_text_add(&name, "update_ratio/%s", o->name);
    cse_store_point(rows->store, cse_store_series(rows->store, name.data), step,
                    cse_update_ratio(record));
    cse_text_clear(&name);
}

static void add_numbers(const cse_statistics_rows *rows, int i, int64_t step,
                        const cse_tensor_statistics *record)
{
    unsigned char digest[8], histogram[CSE_EXPONENT_BINS * 8];
    const int32_t exponent = cse_tensor_statistics_max_exponent(record);
    cse_numerics_row row = { .tensor = rows->tensors[i],
                             .step = step,
                             .count = (int64_t)record->count,
                             .nan = (int64_t)record->nan,
                             .inf = (int64_t)record->infinite,
                             .saturated = (int64_t)record->saturated,
                             .flushed = (int64_t)record->flushed,
                             .zeros = (int64_t)record->zeros,
                             .max_exponent = exponent == INT32_MIN ? -CSE_EXPONENT_BIAS : exponent,
                             .first_microbatch = record->first_microbatch - 1,
                             .digest = digest,
                             .histogram = histogram };
    digest_bytes(record->digest, digest);
    row.histogram_bytes = histogram_bytes(record, histogram);
    cse_store_numerics(rows->store, &row);
    if (rows->updates[i] == 0)
        return;
    add_ratio(rows, i, step, record);
    digest_bytes(record->digest_after, digest);
    cse_store_numerics(rows->store, &(cse_numerics_row){ .tensor = rows->updates[i],
                                                         .step = step,
                                                         .count = (int64_t)record->count,
                                                         .absorbed = (int64_t)record->absorbed,
                                                         .max_exponent = -CSE_EXPONENT_BIAS,
                                                         .first_microbatch = -1,
                                                         .digest = digest });
}

static void add_event(const cse_statistics_rows *rows, int64_t step)
{
    cse_text payload = { 0 };
    cse_text_add(&payload, "{\"attempt\":%lld,\"step\":%lld,\"tensors\":%d}",
                 (long long)cse_store_attempt(rows->store), (long long)step,
                 rows->graph->tracked_count);
    cse_store_event(rows->store, "numerics", payload.data);
    cse_text_clear(&payload);
}

cse_statistics_rows *cse_statistics_rows_new(const cse_graph *graph, cse_store *store)
{
    if (graph->tracked_count == 0)
        return NULL;
    cse_statistics_rows *rows = cse_calloc(1, sizeof *rows);
    const size_t count = (size_t)graph->tracked_count;
    *rows = (cse_statistics_rows){ .graph = graph, .store = store };
    rows->tensors = cse_calloc(count, sizeof *rows->tensors);
    rows->updates = cse_calloc(count, sizeof *rows->updates);
    add_tensors(rows);
    return rows;
}

void cse_statistics_rows_destroy(cse_statistics_rows **rows)
{
    if (*rows == NULL)
        return;
    free((*rows)->tensors);
    free((*rows)->updates);
    free(*rows);
    *rows = NULL;
}

void cse_statistics_rows_add(const cse_statistics_rows *rows, const cse_record *record)
{
    if (rows == NULL || record->statistics == NULL)
        return;
    for (int i = 0; i < rows->graph->tracked_count; i++)
        add_numbers(rows, i, record->step + 1, &record->statistics[i]);
    add_event(rows, record->step + 1);
}

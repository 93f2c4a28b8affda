/* Observed records as they arrive, in step order.
 *
 * The first tensor of a step that is not finite is the first in the order of execution among those
 * of the least microbatch: its inputs were computed before it. Rows stand in that order. */
#include "run/record/nan_monitor.h"

#include <stdlib.h>

enum { MOST_NAMED = 4 };

struct cse_nan_monitor {
    const cse_graph *graph;
    cse_store *store;
    int64_t *tensors, *updates; /* numbers in the store, by tracked; 0: no such row */
    cse_text words; /* about the first of the last observed steps that all were not finite */
};

/* ---- rows of the store ---- */

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

static int64_t add_tensor(const cse_nan_monitor *watch, const cse_tracked_tensor *o, bool update)
{
    const bool state = o->kind == CSE_TRACKED_STATE;
    cse_text name = { 0 };
    cse_text_add(&name, "%s%s", o->name, update ? ".update" : "");
    const int64_t number = cse_store_tensor(
        watch->store,
        &(cse_tensor_row){ .name = name.data,
                           .scope = o->node->scope,
                           .op = state && !update ? "state" : o->op,
                           .kind = kind_of(watch->graph, o),
                           .source_dtype = cse_dtype_name(o->source),
                           .dtype = cse_dtype_name(o->node->dtype),
                           .backward = o->node->backward || o->kind == CSE_TRACKED_GRADIENT,
                           .file = o->node->file,
                           .line = o->node->line });
    cse_text_clear(&name);
    return number;
}

/* Numbers grow in the order of execution: updates come last. */
static void add_tensors(cse_nan_monitor *watch)
{
    const cse_graph *graph = watch->graph;
    for (int i = 0; i < graph->tracked_count; i++)
        watch->tensors[i] = add_tensor(watch, &graph->tracked[i], false);
    for (int i = 0; i < graph->tracked_count; i++)
        if (graph->tracked[i].kind == CSE_TRACKED_STATE)
            watch->updates[i] = add_tensor(watch, &graph->tracked[i], true);
}

static void digest_bytes(uint64_t digest, unsigned char bytes[8])
{
    for (int i = 0; i < 8; i++)
        bytes[i] = (unsigned char)(digest >> (56 - 8 * i));
}

/* Bins up to the last that is not empty, 8 bytes each, the least first. */
static size_t histogram_bytes(const cse_tensor_statistics *record, unsigned char bytes[])
{
    int bins = CSE_EXPONENT_BINS;
    while (bins > 0 && record->exponents[bins - 1] == 0)
        bins--;
    for (int i = 0; i < bins * 8; i++)
        bytes[i] = (unsigned char)(record->exponents[i / 8] >> (i % 8 * 8));
    return (size_t)bins * 8;
}

static void add_numbers(const cse_nan_monitor *watch, int i, int64_t step,
                        const cse_tensor_statistics *record)
{
    unsigned char digest[8], histogram[CSE_EXPONENT_BINS * 8];
    const int32_t exponent = cse_tensor_statistics_max_exponent(record);
    cse_numerics_row row = { .tensor = watch->tensors[i],
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
    cse_store_numerics(watch->store, &row);
    if (watch->updates[i] == 0)
        return;
    digest_bytes(record->digest_after, digest);
    cse_store_numerics(watch->store, &(cse_numerics_row){ .tensor = watch->updates[i],
                                                          .step = step,
                                                          .count = (int64_t)record->count,
                                                          .absorbed = (int64_t)record->absorbed,
                                                          .max_exponent = -CSE_EXPONENT_BIAS,
                                                          .first_microbatch = -1,
                                                          .digest = digest });
}

static void tell_readers(const cse_nan_monitor *watch, int64_t step)
{
    cse_text payload = { 0 };
    cse_text_add(&payload, "{\"attempt\":%lld,\"step\":%lld,\"tensors\":%d}",
                 (long long)cse_store_attempt(watch->store), (long long)step,
                 watch->graph->tracked_count);
    cse_store_event(watch->store, "numerics", payload.data);
    cse_text_clear(&payload);
}

cse_nan_monitor *cse_nan_monitor_new(const cse_graph *graph, cse_store *store)
{
    cse_nan_monitor *watch = cse_calloc(1, sizeof *watch);
    const size_t count = (size_t)graph->tracked_count + 1;
    *watch = (cse_nan_monitor){ .graph = graph, .store = store };
    watch->tensors = cse_calloc(count, sizeof *watch->tensors);
    watch->updates = cse_calloc(count, sizeof *watch->updates);
    if (store != NULL)
        add_tensors(watch);
    return watch;
}

void cse_nan_monitor_destroy(cse_nan_monitor **watch)
{
    if (*watch == NULL)
        return;
    cse_text_clear(&(*watch)->words);
    free((*watch)->tensors);
    free((*watch)->updates);
    free(*watch);
    *watch = NULL;
}

/* ---- words for errors ---- */

static bool is_bad(const cse_tensor_statistics *record)
{
    return record->nan + record->infinite > 0 || record->first_microbatch > 0;
}

/* A state or a sum is of no microbatch: it comes before, or after, all of them. */
static int64_t microbatch_of(const cse_graph *graph, int i, const cse_tensor_statistics *record)
{
    if (graph->tracked[i].kind == CSE_TRACKED_STATE)
        return 0;
    return record->first_microbatch > 0 ? record->first_microbatch : INT64_MAX;
}

/* The row where it began, -1: all are finite. */
static int first_bad(const cse_graph *graph, const cse_tensor_statistics *records)
{
    int first = -1;
    for (int i = 0; i < graph->tracked_count; i++)
        if (is_bad(&records[i]) && (first < 0 || microbatch_of(graph, i, &records[i]) <
                                                     microbatch_of(graph, first, &records[first])))
            first = i;
    return first;
}

static void describe(const cse_nan_monitor *watch, int i, const cse_tensor_statistics *record,
                     cse_text *out)
{
    const cse_tracked_tensor *o = &watch->graph->tracked[i];
    cse_text_add(out, "%s (", o->name);
    if (o->source != o->node->dtype)
        cse_text_add(out, "%s to ", cse_dtype_name(o->source));
    cse_text_add(out, "%s", cse_dtype_name(o->node->dtype));
    if (record->saturated > 0)
        cse_text_add(out, ", %llu of %llu values too large for it",
                     (unsigned long long)record->saturated, (unsigned long long)record->count);
    else if (record->count > 0)
        cse_text_add(out, ", %llu infinite and %llu NaN of %llu",
                     (unsigned long long)record->infinite, (unsigned long long)record->nan,
                     (unsigned long long)record->count);
    if (o->node->file != NULL)
        cse_text_add(out, ", %s:%d", o->node->file, o->node->line);
    cse_text_add(out, ")");
}

static void remember(cse_nan_monitor *watch, const cse_record *record, int first)
{
    const cse_tensor_statistics *records = record->observed;
    int named = 0;
    cse_text_add(&watch->words, "; the first tensor seen not finite is ");
    describe(watch, first, &records[first], &watch->words);
    cse_text_add(&watch->words, " at step %lld", (long long)record->step + 1);
    if (records[first].first_microbatch > 0)
        cse_text_add(&watch->words, ", microbatch %lld",
                     (long long)records[first].first_microbatch - 1);
    for (int i = 0; i < watch->graph->tracked_count; i++) {
        if (i == first || records[i].saturated == 0 || ++named > MOST_NAMED)
            continue;
        cse_text_add(&watch->words, "%s", named == 1 ? "; also too large: " : ", ");
        cse_text_add(&watch->words, "%s", watch->graph->tracked[i].name);
    }
    if (named > MOST_NAMED)
        cse_text_add(&watch->words, " and %d others", named - MOST_NAMED);
}

void cse_nan_monitor_record(cse_nan_monitor *watch, const cse_record *record)
{
    if (watch == NULL || record->observed == NULL)
        return;
    for (int i = 0; watch->store != NULL && i < watch->graph->tracked_count; i++)
        add_numbers(watch, i, record->step + 1, &record->observed[i]);
    if (watch->store != NULL)
        tell_readers(watch, record->step + 1);
    const int first = first_bad(watch->graph, record->observed);
    if (first < 0)
        cse_text_clear(&watch->words);
    else if (watch->words.size == 0)
        remember(watch, record, first);
}

const char *cse_nan_monitor_overflows(const cse_nan_monitor *watch)
{
    return watch != NULL && watch->words.data != NULL ? watch->words.data : "";
}

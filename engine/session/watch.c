/* Observed records as they arrive, in step order.
 *
 * The first tensor of a step that is not finite is the first in the order of execution among those
 * of the least microbatch: its inputs were computed before it. Rows stand in that order. */
#include "engine/session/watch.h"

#include <stdlib.h>

enum { MOST_NAMED = 4 };

struct cse_watch {
    const cse_graph *graph;
    cse_text words; /* about the first of the last observed steps that all were not finite */
};

cse_watch *cse_watch_new(cse_session *session, const cse_graph *graph)
{
    cse_watch *watch = cse_calloc(1, sizeof *watch);
    (void)session;
    watch->graph = graph;
    return watch;
}

void cse_watch_destroy(cse_watch **watch)
{
    if (*watch == NULL)
        return;
    cse_text_clear(&(*watch)->words);
    free(*watch);
    *watch = NULL;
}

static bool is_bad(const cse_observed *record)
{
    return record->nan + record->infinite > 0 || record->first_microbatch > 0;
}

/* A state or a sum is of no microbatch: it comes before, or after, all of them. */
static int64_t microbatch_of(const cse_graph *graph, int i, const cse_observed *record)
{
    if (graph->observations[i].kind == CSE_OBSERVED_STATE)
        return 0;
    return record->first_microbatch > 0 ? record->first_microbatch : INT64_MAX;
}

/* The row where it began, -1: all are finite. */
static int first_bad(const cse_graph *graph, const cse_observed *records)
{
    int first = -1;
    for (int i = 0; i < graph->observation_count; i++)
        if (is_bad(&records[i]) && (first < 0 || microbatch_of(graph, i, &records[i]) <
                                                     microbatch_of(graph, first, &records[first])))
            first = i;
    return first;
}

static void describe(const cse_watch *watch, int i, const cse_observed *record, cse_text *out)
{
    const cse_observation *o = &watch->graph->observations[i];
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

static void remember(cse_watch *watch, const cse_record *record, int first)
{
    const cse_observed *records = record->observed;
    int named = 0;
    cse_text_add(&watch->words, "; the first tensor seen not finite is ");
    describe(watch, first, &records[first], &watch->words);
    cse_text_add(&watch->words, " at step %lld", (long long)record->step + 1);
    if (records[first].first_microbatch > 0)
        cse_text_add(&watch->words, ", microbatch %lld",
                     (long long)records[first].first_microbatch - 1);
    for (int i = 0; i < watch->graph->observation_count; i++) {
        if (i == first || records[i].saturated == 0 || ++named > MOST_NAMED)
            continue;
        cse_text_add(&watch->words, "%s", named == 1 ? "; also too large: " : ", ");
        cse_text_add(&watch->words, "%s", watch->graph->observations[i].name);
    }
    if (named > MOST_NAMED)
        cse_text_add(&watch->words, " and %d others", named - MOST_NAMED);
}

void cse_watch_record(cse_watch *watch, const cse_record *record)
{
    if (watch == NULL || record->observed == NULL)
        return;
    const int first = first_bad(watch->graph, record->observed);
    if (first < 0)
        cse_text_clear(&watch->words);
    else if (watch->words.size == 0)
        remember(watch, record, first);
}

const char *cse_watch_overflows(const cse_watch *watch)
{
    return watch != NULL && watch->words.data != NULL ? watch->words.data : "";
}

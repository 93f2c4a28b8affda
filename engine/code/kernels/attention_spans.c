/* Spans come from data: they may begin before the first query and end behind the last one. */
#include "engine/code/kernels/attention_spans.h"

#include <stddef.h>
#include <string.h>

enum { BLOCK = CSE_SPANS_BLOCK };

void cse_spans_pack(const int32_t *spans, int64_t keys, const cse_packed_spans *to)
{
    memcpy(to->begins, spans, (size_t)keys * sizeof *spans);
    memcpy(to->ends, spans + keys, (size_t)keys * sizeof *spans);
    for (int64_t key = keys; key % BLOCK != 0; key++)
        to->begins[key] = to->ends[key] = 0;
}

cse_attention_spans cse_spans_from(const cse_packed_spans *spans, int64_t key)
{
    return spans->begins != NULL ? (cse_attention_spans){ spans->begins + key, spans->ends + key }
                                 : (cse_attention_spans){ NULL, NULL };
}

void cse_spans_narrow_keys(const cse_packed_spans *spans, int64_t first, int64_t end,
                           int64_t range[2])
{
    int64_t from = range[1], to = range[0];
    for (int64_t key = range[0]; key < range[1]; key++)
        if (spans->begins[key] < end && spans->ends[key] > first &&
            spans->begins[key] < spans->ends[key]) {
            from = key < from ? key : from;
            to = key + 1;
        }
    range[0] = from < to ? from / BLOCK * BLOCK : 0;
    range[1] = from < to ? to : 0;
}

void cse_spans_narrow_queries(const cse_packed_spans *spans, int64_t key, int64_t count,
                              int64_t range[2])
{
    int64_t from = range[1], to = range[0];
    for (int64_t i = key; i < key + count; i++)
        if (spans->begins[i] < spans->ends[i]) {
            from = spans->begins[i] < from ? spans->begins[i] : from;
            to = spans->ends[i] > to ? spans->ends[i] : to;
        }
    from = from < 0 ? 0 : from / BLOCK * BLOCK;
    to = (to + BLOCK - 1) / BLOCK * BLOCK;
    range[0] = from > range[0] ? from : range[0];
    range[1] = to < range[1] ? to : range[1];
}

/* The spans of one sample's keys (the queries that see them), and which blocks they leave out. */
#ifndef CSE_KERNELS_ATTENTION_SPANS_H
#define CSE_KERNELS_ATTENTION_SPANS_H

#include <stdint.h>

/* Queries or keys that are computed together. */
enum { CSE_SPANS_BLOCK = 32 };

/* By key, the queries that see it: from begins[key] to before ends[key]. NULL: all. */
typedef struct cse_attention_spans {
    const int32_t *begins, *ends;
} cse_attention_spans;

/* Filled up to a whole block with keys that nobody sees; NULL: there are none. */
typedef struct cse_packed_spans {
    int32_t *begins, *ends;
} cse_packed_spans;

/* From [2, keys]. */
void cse_spans_pack(const int32_t *spans, int64_t keys, const cse_packed_spans *to);

/* Of all keys from number `key` on. */
cse_attention_spans cse_spans_from(const cse_packed_spans *spans, int64_t key);

/* Narrows the keys [range[0], range[1]) to those from the first to the last that one of the queries
 * [first, end) sees; the first is the beginning of a block. */
void cse_spans_narrow_keys(const cse_packed_spans *spans, int64_t first, int64_t end,
                           int64_t range[2]);

/* Narrows the queries [range[0], range[1]) to the blocks of those that see one of `count` keys from
 * `key` on. */
void cse_spans_narrow_queries(const cse_packed_spans *spans, int64_t key, int64_t count,
                              int64_t range[2]);

#endif

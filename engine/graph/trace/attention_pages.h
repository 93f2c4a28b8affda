/* Where keys and values of earlier tokens lie, for an attention of tokens that are decoded one by
 * one: in pages of 32 tokens, as the products of the attention want them, so that a token reads
 * them once and moves nothing.
 *
 * A page has each head in turn. Keys of a head: [head][32 tokens]. Values of a head, in panels of
 * 64 columns (the last one of a multiple of 16): [panel][32 tokens][width]. All are float32, of
 * whatever type the attention computes in; the pool is an int32 input, so that no pass rounds it.
 */
#ifndef CSE_TRACE_ATTENTION_PAGES_H
#define CSE_TRACE_ATTENTION_PAGES_H

#include <stdint.h>

enum { CSE_PAGE_TOKENS = 32, CSE_PAGE_PANEL = 64, CSE_PAGE_LANES = 16 };

/* Inputs of paged_attention: of the token q [batch, heads, 1, head], k [batch, kept heads, 1, head]
 * and v [batch, kept heads, 1, value]; the pools, int32 [batch, pages, words of a page], which all
 * sequences share; and int32 [batch, 1 + most pages]: how many tokens a sequence has before this
 * one, then the numbers of its pages, counted over the whole pool. */
enum {
    CSE_PAGED_QUERY,
    CSE_PAGED_KEY,
    CSE_PAGED_VALUE,
    CSE_PAGED_KEYS,
    CSE_PAGED_VALUES,
    CSE_PAGED_TABLE,
    CSE_PAGED_INPUTS
};

/* Columns that `value` ones take in a page. */
static inline int64_t cse_page_columns(int64_t value)
{
    return (value + CSE_PAGE_LANES - 1) / CSE_PAGE_LANES * CSE_PAGE_LANES;
}

/* Words of one head of a page. */
static inline int64_t cse_page_key_words(int64_t head)
{
    return head * CSE_PAGE_TOKENS;
}

static inline int64_t cse_page_value_words(int64_t value)
{
    return cse_page_columns(value) * CSE_PAGE_TOKENS;
}

/* The columns of the panel that begins with `column`. */
static inline int64_t cse_page_panel(int64_t value, int64_t column)
{
    const int64_t left = cse_page_columns(value) - column;
    return left < CSE_PAGE_PANEL ? left : CSE_PAGE_PANEL;
}

/* Places in a head of a page, of element `c` of a token. */
static inline int64_t cse_page_key_at(int64_t token, int64_t c)
{
    return c * CSE_PAGE_TOKENS + token;
}

static inline int64_t cse_page_value_at(int64_t value, int64_t token, int64_t c)
{
    const int64_t column = c / CSE_PAGE_PANEL * CSE_PAGE_PANEL;
    return column * CSE_PAGE_TOKENS + token * cse_page_panel(value, column) + (c - column);
}

#endif

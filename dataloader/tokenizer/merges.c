/* Short words are searched through for each merge, since their pairs fit into a few cache lines;
 * long ones have a heap of the pairs to merge. Entries of the heap that a merge has made wrong are
 * recognised when they come out. */
#include "dataloader/tokenizer/merges.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"

enum { SHORT_TOKENS = 48 };

#define NO_RULE UINT64_MAX

void cse_merges_make(cse_merges *merges, size_t count)
{
    size_t slots = 16;
    while (slots < count * 2 + 2)
        slots *= 2;
    *merges = (cse_merges){ .pairs = cse_calloc(slots, sizeof(uint64_t)),
                            .rules = cse_calloc(slots, sizeof(uint64_t)),
                            .slots = slots };
}

void cse_merges_clear(cse_merges *merges)
{
    free(merges->pairs);
    free(merges->rules);
    *merges = (cse_merges){ 0 };
}

static size_t slot_of(const cse_merges *merges, uint64_t pair)
{
    size_t slot = (size_t)(pair * UINT64_C(0x9e3779b97f4a7c15) >> 20) & (merges->slots - 1);
    while (merges->pairs[slot] != 0 && merges->pairs[slot] != pair)
        slot = (slot + 1) & (merges->slots - 1);
    return slot;
}

static uint64_t pair_of(int32_t left, int32_t right)
{
    return ((uint64_t)(uint32_t)left << 32 | (uint32_t)right) + 1;
}

void cse_merges_put(cse_merges *merges, int32_t left, int32_t right, uint64_t rule)
{
    const uint64_t pair = pair_of(left, right);
    const size_t slot = slot_of(merges, pair);
    merges->count += merges->pairs[slot] == 0;
    merges->pairs[slot] = pair;
    merges->rules[slot] = rule;
}

uint64_t cse_merges_get(const cse_merges *merges, int32_t left, int32_t right)
{
    const size_t slot = slot_of(merges, pair_of(left, right));
    return merges->pairs[slot] != 0 ? merges->rules[slot] : NO_RULE;
}

/* The token at `left` takes the place of that at `right`, too. */
static void join(uint32_t *lengths, size_t left, size_t right)
{
    if (lengths != NULL)
        lengths[left] += lengths[right];
}

static size_t apply_short(const cse_merges *merges, int32_t *tokens, uint32_t *lengths,
                          size_t count)
{
    uint64_t rules[SHORT_TOKENS];
    for (size_t i = 0; i + 1 < count; i++)
        rules[i] = cse_merges_get(merges, tokens[i], tokens[i + 1]);
    while (count > 1) {
        size_t best = 0;
        for (size_t i = 1; i + 1 < count; i++)
            if (rules[i] >> 32 < rules[best] >> 32)
                best = i;
        if (rules[best] == NO_RULE)
            break;
        tokens[best] = (int32_t)(uint32_t)rules[best];
        join(lengths, best, best + 1);
        count--;
        memmove(tokens + best + 1, tokens + best + 2, (count - best - 1) * sizeof *tokens);
        if (lengths != NULL)
            memmove(lengths + best + 1, lengths + best + 2, (count - best - 1) * sizeof *lengths);
        memmove(rules + best, rules + best + 1, (count - best - 1) * sizeof *rules);
        if (best > 0)
            rules[best - 1] = cse_merges_get(merges, tokens[best - 1], tokens[best]);
        if (best + 1 < count)
            rules[best] = cse_merges_get(merges, tokens[best], tokens[best + 1]);
    }
    return count;
}

/* ---- long words ---- */

typedef struct candidate {
    uint64_t rule;
    uint32_t place; /* of the pair's left token */
} candidate;

typedef struct long_word {
    const cse_merges *merges;
    int32_t *tokens;
    uint32_t *lengths;        /* NULL: not wanted */
    uint32_t *before, *after; /* neighbours; NONE at the ends; after[i] == GONE: merged away */
    candidate *heap;
    size_t heap_count, heap_capacity;
} long_word;

#define NONE UINT32_MAX
#define GONE (UINT32_MAX - 1)

static bool is_earlier(const candidate *a, const candidate *b)
{
    const uint64_t left = a->rule >> 32, right = b->rule >> 32;
    return left != right ? left < right : a->place < b->place;
}

static void push(long_word *word, uint32_t place)
{
    if (place == NONE || word->after[place] == NONE)
        return;
    const uint64_t rule =
        cse_merges_get(word->merges, word->tokens[place], word->tokens[word->after[place]]);
    if (rule == NO_RULE)
        return;
    CSE_GROW(word->heap, word->heap_count, word->heap_capacity);
    const candidate added = { .rule = rule, .place = place };
    size_t i = word->heap_count++;
    for (; i > 0 && is_earlier(&added, &word->heap[(i - 1) / 2]); i = (i - 1) / 2)
        word->heap[i] = word->heap[(i - 1) / 2];
    word->heap[i] = added;
}

static candidate pop(long_word *word)
{
    const candidate first = word->heap[0], last = word->heap[--word->heap_count];
    const size_t count = word->heap_count;
    size_t i = 0;
    for (size_t child; (child = 2 * i + 1) < count; i = child) {
        if (child + 1 < count && is_earlier(&word->heap[child + 1], &word->heap[child]))
            child++;
        if (!is_earlier(&word->heap[child], &last))
            break;
        word->heap[i] = word->heap[child];
    }
    word->heap[i] = last;
    return first;
}

static void merge_at(long_word *word, uint32_t place, uint64_t rule)
{
    const uint32_t right = word->after[place], next = word->after[right];
    word->tokens[place] = (int32_t)(uint32_t)rule;
    join(word->lengths, place, right);
    word->after[place] = next;
    word->after[right] = GONE;
    if (next != NONE)
        word->before[next] = place;
    push(word, word->before[place]);
    push(word, place);
}

static size_t apply_long(const cse_merges *merges, int32_t *tokens, uint32_t *lengths, size_t count)
{
    long_word word = { .merges = merges,
                       .tokens = tokens,
                       .lengths = lengths,
                       .before = cse_malloc(count * sizeof(uint32_t)),
                       .after = cse_malloc(count * sizeof(uint32_t)) };
    size_t left = 0;
    for (uint32_t i = 0; i < count; i++) {
        word.before[i] = i == 0 ? NONE : i - 1;
        word.after[i] = i + 1 == count ? NONE : i + 1;
    }
    for (uint32_t i = 0; i < count; i++)
        push(&word, i);
    while (word.heap_count > 0) {
        const candidate top = pop(&word);
        const uint32_t right = word.after[top.place];
        if (right == NONE || right == GONE)
            continue;
        const uint64_t rule = cse_merges_get(merges, tokens[top.place], tokens[right]);
        if (rule != NO_RULE && (uint32_t)rule == (uint32_t)top.rule)
            merge_at(&word, top.place, rule);
    }
    for (size_t i = 0; i < count; i++) {
        if (word.after[i] == GONE)
            continue;
        if (lengths != NULL)
            lengths[left] = lengths[i];
        tokens[left++] = tokens[i];
    }
    free(word.before);
    free(word.after);
    free(word.heap);
    return left;
}

size_t cse_merges_apply(const cse_merges *merges, int32_t *tokens, uint32_t *lengths, size_t count)
{
    return count <= SHORT_TOKENS ? apply_short(merges, tokens, lengths, count)
                                 : apply_long(merges, tokens, lengths, count);
}

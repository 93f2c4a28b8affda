/* A list of words, and a hash table of their places in it. */
#include "dataloader/tokenizer/word_counts.h"

#include <stdlib.h>
#include <string.h>

#include "dataloader/tokenizer/tokenizer.h"
#include "dataloader/tokenizer/word_hash.h"

void cse_word_counts_clear(cse_word_counts *counts)
{
    if (counts->arena != NULL)
        cse_arena_destroy(&counts->arena);
    free(counts->words);
    free(counts->index);
    *counts = (cse_word_counts){ 0 };
}

static size_t slot_of(const cse_word_counts *t, const char *bytes, size_t size)
{
    size_t slot = (size_t)cse_word_hash(bytes, size) & (t->slots - 1);
    while (t->index[slot] != 0) {
        const cse_counted_word *word = &t->words[t->index[slot] - 1];
        if ((size_t)word->size == size && memcmp(word->bytes, bytes, size) == 0)
            break;
        slot = (slot + 1) & (t->slots - 1);
    }
    return slot;
}

static void grow(cse_word_counts *t)
{
    t->slots = t->slots == 0 ? 1 << 16 : t->slots * 2;
    free(t->index);
    t->index = cse_calloc(t->slots, sizeof *t->index);
    for (size_t i = 0; i < t->count; i++)
        t->index[slot_of(t, t->words[i].bytes, (size_t)t->words[i].size)] = (uint32_t)i + 1;
}

cse_status cse_word_counts_add(void *self, const char *bytes, size_t size)
{
    cse_word_counts *t = self;
    if (t->arena == NULL)
        t->arena = cse_arena_new();
    if (t->count * 2 >= t->slots)
        grow(t);
    const size_t slot = slot_of(t, bytes, size);
    if (t->index[slot] != 0) {
        t->words[t->index[slot] - 1].count++;
        return CSE_OK;
    }
    if (t->count == CSE_TRAINER_MOST_WORDS || size > CSE_WORD_MOST_BYTES)
        return cse_fail(CSE_DATA,
                        "the text has more than %d different words, or one of %zu bytes: train on "
                        "a part of it",
                        CSE_TRAINER_MOST_WORDS, size);
    CSE_GROW(t->words, t->count, t->capacity);
    cse_counted_word *word = &t->words[t->count++];
    *word = (cse_counted_word){ .bytes = cse_arena_alloc(t->arena, size),
                                .count = 1,
                                .size = (int32_t)size,
                                .length = (int32_t)size };
    memcpy(word->bytes, bytes, size);
    t->index[slot] = (uint32_t)t->count;
    return CSE_OK;
}

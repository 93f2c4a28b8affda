/* A hash table of places in a list, so that entries keep their numbers while it grows. */
#include "dataloader/tokenizer/pair_table.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"

void cse_pair_table_clear(cse_pair_table *table)
{
    for (size_t i = 0; i < table->count; i++)
        free(table->entries[i].words);
    free(table->entries);
    free(table->index);
    *table = (cse_pair_table){ 0 };
}

static size_t slot_of(const cse_pair_table *table, uint64_t pair)
{
    size_t slot = (size_t)(pair * UINT64_C(0x9e3779b97f4a7c15) >> 24) & (table->slots - 1);
    while (table->index[slot] != 0 && table->entries[table->index[slot] - 1].pair != pair)
        slot = (slot + 1) & (table->slots - 1);
    return slot;
}

static void grow(cse_pair_table *table)
{
    table->slots = table->slots == 0 ? 1 << 16 : table->slots * 2;
    free(table->index);
    table->index = cse_calloc(table->slots, sizeof *table->index);
    for (size_t i = 0; i < table->count; i++)
        table->index[slot_of(table, table->entries[i].pair)] = (uint32_t)i + 1;
}

size_t cse_pair_table_at(cse_pair_table *table, uint64_t pair)
{
    if (table->count * 2 >= table->slots)
        grow(table);
    const size_t slot = slot_of(table, pair);
    if (table->index[slot] != 0)
        return table->index[slot] - 1;
    CSE_GROW(table->entries, table->count, table->capacity);
    table->entries[table->count] = (cse_pair_entry){ .pair = pair, .last_word = -1 };
    table->index[slot] = (uint32_t)++table->count;
    return table->count - 1;
}

void cse_pair_entry_note_word(cse_pair_entry *entry, int32_t word)
{
    if (entry->last_word == word)
        return;
    CSE_GROW(entry->words, entry->word_count, entry->word_capacity);
    entry->words[entry->word_count++] = word;
    entry->last_word = word;
}

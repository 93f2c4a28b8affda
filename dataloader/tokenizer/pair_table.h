/* Counts of pairs of tokens, and in which words each pair was seen. */
#ifndef CSE_DATALOADER_TOKENIZER_PAIR_TABLE_H
#define CSE_DATALOADER_TOKENIZER_PAIR_TABLE_H

#include <stddef.h>
#include <stdint.h>

typedef struct cse_pair_entry {
    uint64_t pair; /* left << 32 | right */
    int64_t count;
    int32_t *words; /* each once, in the order in which they came */
    int32_t word_count, word_capacity;
    int32_t last_word; /* that was added, so that it is not added again; -1: none */
} cse_pair_entry;

typedef struct cse_pair_table {
    cse_pair_entry *entries;
    size_t count, capacity;
    uint32_t *index; /* [slots]: 1 + place in entries; 0: free */
    size_t slots;
} cse_pair_table;

void cse_pair_table_clear(cse_pair_table *table);
/* The place of a pair's entry, which is made where it is missing. Entries move. */
size_t cse_pair_table_at(cse_pair_table *table, uint64_t pair);
void cse_pair_entry_note_word(cse_pair_entry *entry, int32_t word);

#endif

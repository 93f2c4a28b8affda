/* The words of a vocabulary as a tree of their bytes, to find those that a text begins with. */
#ifndef CSE_DATALOADER_TOKENIZER_PIECE_TRIE_H
#define CSE_DATALOADER_TOKENIZER_PIECE_TRIE_H

#include "dataloader/tokenizer/vocabulary.h"

typedef struct cse_trie_node {
    uint32_t first;     /* of its children, which stand in a row, by their bytes */
    uint16_t count;     /* of them */
    unsigned char byte; /* that leads to it */
    int32_t id;         /* of the word that ends here; -1: none */
} cse_trie_node;

typedef struct cse_piece_trie {
    cse_trie_node *nodes; /* the root first */
    size_t count, capacity;
    uint32_t of_root[256]; /* its children by their bytes; 0: none */
} cse_piece_trie;

/* Of the tokens that words can become, and that `is_piece` accepts, where it is not NULL. */
void cse_piece_trie_make(cse_piece_trie *trie, const cse_vocabulary *vocabulary,
                         bool (*is_piece)(const void *self, int32_t id), const void *self);
void cse_piece_trie_clear(cse_piece_trie *trie);

/* The child of a node, 0 for none; the root is node 0. */
static inline uint32_t cse_piece_trie_next(const cse_piece_trie *trie, uint32_t node,
                                           unsigned char byte)
{
    if (node == 0)
        return trie->of_root[byte];
    const cse_trie_node *at = &trie->nodes[node];
    uint32_t low = at->first, high = low + at->count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (trie->nodes[middle].byte == byte)
            return middle;
        if (trie->nodes[middle].byte < byte)
            low = middle + 1;
        else
            high = middle;
    }
    return 0;
}

#endif

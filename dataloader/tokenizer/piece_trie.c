/* Made level by level from the sorted words, so that the children of a node stand in a row. */
#include "dataloader/tokenizer/piece_trie.h"

#include <stdlib.h>
#include <string.h>

typedef struct word {
    const char *bytes;
    uint32_t size;
    int32_t id;
} word;

/* The words [low, high) have the bytes that lead to the node. */
typedef struct reach {
    size_t low, high;
} reach;

typedef struct reaches {
    reach *of; /* [nodes of the trie] */
    size_t capacity;
} reaches;

void cse_piece_trie_clear(cse_piece_trie *trie)
{
    free(trie->nodes);
    *trie = (cse_piece_trie){ 0 };
}

static int by_bytes(const void *a, const void *b)
{
    const word *left = a, *right = b;
    const uint32_t common = left->size < right->size ? left->size : right->size;
    const int order = memcmp(left->bytes, right->bytes, common);
    if (order != 0)
        return order;
    return left->size != right->size ? (left->size > right->size) - (left->size < right->size)
                                     : (left->id > right->id) - (left->id < right->id);
}

static void add_node(cse_piece_trie *trie, unsigned char byte)
{
    CSE_GROW(trie->nodes, trie->count, trie->capacity);
    trie->nodes[trie->count++] = (cse_trie_node){ .byte = byte, .id = -1 };
}

/* The children of a node at `depth`; their reaches are added to the list. */
static void add_children(cse_piece_trie *trie, size_t node, const word *words, uint32_t depth,
                         reaches *all)
{
    size_t low = all->of[node].low;
    const size_t high = all->of[node].high;
    for (; low < high && words[low].size == depth; low++)
        trie->nodes[node].id = words[low].id;
    trie->nodes[node].first = (uint32_t)trie->count;
    while (low < high) {
        const unsigned char byte = (unsigned char)words[low].bytes[depth];
        size_t end = low + 1;
        while (end < high && (unsigned char)words[end].bytes[depth] == byte)
            end++;
        const size_t child = trie->count;
        add_node(trie, byte);
        CSE_GROW(all->of, child, all->capacity);
        all->of[child] = (reach){ low, end };
        trie->nodes[node].count++;
        low = end;
    }
}

void cse_piece_trie_make(cse_piece_trie *trie, const cse_vocabulary *vocabulary,
                         bool (*is_piece)(const void *self, int32_t id), const void *self)
{
    size_t count = 0, level_end = 1;
    uint32_t depth = 0;
    reaches all = { 0 };
    word *words = cse_malloc(((size_t)vocabulary->size + 1) * sizeof *words);
    for (int64_t id = 0; id < vocabulary->size; id++) {
        const cse_vocabulary_token *token = &vocabulary->tokens[id];
        if (token->is_word && token->size > 0 && (is_piece == NULL || is_piece(self, (int32_t)id)))
            words[count++] = (word){ token->bytes, token->size, (int32_t)id };
    }
    qsort(words, count, sizeof *words, by_bytes);
    cse_piece_trie_clear(trie);
    add_node(trie, 0);
    CSE_GROW(all.of, 0, all.capacity);
    all.of[0] = (reach){ 0, count };
    for (size_t node = 0; node < trie->count; node++) {
        if (node == level_end) {
            level_end = trie->count;
            depth++;
        }
        add_children(trie, node, words, depth, &all);
    }
    for (uint32_t i = 0; i < trie->nodes[0].count; i++)
        trie->of_root[trie->nodes[trie->nodes[0].first + i].byte] = trie->nodes[0].first + i;
    free(words);
    free(all.of);
}

/* A hash of the bytes of a word, eight at a time. It decides where a word is looked for, never what
 * is found. */
#ifndef CSE_DATALOADER_TOKENIZER_WORD_HASH_H
#define CSE_DATALOADER_TOKENIZER_WORD_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t cse_word_hash(const char *bytes, size_t size)
{
    uint64_t hash = size * UINT64_C(0x9e3779b97f4a7c15);
    for (; size >= 8; bytes += 8, size -= 8) {
        uint64_t piece;
        memcpy(&piece, bytes, 8);
        hash = (hash ^ piece) * UINT64_C(0xff51afd7ed558ccd);
        hash ^= hash >> 32;
    }
    uint64_t rest = 0;
    for (size_t i = 0; i < size; i++)
        rest |= (uint64_t)(unsigned char)bytes[i] << 8 * i;
    hash = (hash ^ rest) * UINT64_C(0xc4ceb9fe1a85ec53);
    return hash ^ hash >> 29;
}

#endif

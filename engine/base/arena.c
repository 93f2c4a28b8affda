/* A list of blocks, newest first; an allocation advances a cursor in the first block. */
#include "engine/base/arena.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/pages.h"

enum {
    BLOCK_BYTES = 64 * 1024,
    PAGES_BYTES = 1 << 20, /* from here on a block is pages, which the kernel zeroes when touched */
    LARGE_BYTES = 1 << 21, /* the blocks of an arena that holds more than that: a huge page each */
};

typedef struct block {
    struct block *next;
    size_t used, size;
    unsigned char *bytes;
    bool pages; /* of cse_pages_new */
} block;

struct cse_arena {
    block *blocks;
    size_t used_bytes;
};

static void *checked(void *memory, size_t size)
{
    if (memory == NULL && size != 0) {
        cse_out_of_memory(size);
    }
    return memory;
}

void *cse_malloc(size_t size)
{
    return checked(malloc(size), size);
}

void *cse_calloc(size_t count, size_t size)
{
    return checked(calloc(count, size), size);
}

void *cse_realloc(void *memory, size_t size)
{
    return checked(realloc(memory, size), size);
}

char *cse_strdup(const char *text)
{
    return text == NULL ? NULL : checked(strdup(text), 1);
}

void *cse_aligned_calloc(size_t size)
{
    size_t rounded = (size + 63) / 64 * 64;
    void *memory = checked(aligned_alloc(64, rounded ? rounded : 64), rounded);
    memset(memory, 0, rounded);
    return memory;
}

cse_arena *cse_arena_new(void)
{
    return cse_calloc(1, sizeof(cse_arena));
}

void cse_arena_take(cse_arena *arena, cse_arena *from)
{
    block **end = &arena->blocks;
    while (*end != NULL)
        end = &(*end)->next;
    *end = from->blocks;
    arena->used_bytes += from->used_bytes;
    from->blocks = NULL;
    from->used_bytes = 0;
}

void cse_arena_destroy(cse_arena **arena)
{
    if (arena == NULL || *arena == NULL)
        return;
    for (block *b = (*arena)->blocks; b != NULL;) {
        block *next = b->next;
        if (b->pages)
            cse_pages_release(b->bytes, b->size);
        else
            free(b->bytes);
        free(b);
        b = next;
    }
    free(*arena);
    *arena = NULL;
}

static block *block_new(cse_arena *arena, size_t size)
{
    block *b = cse_calloc(1, sizeof *b);
    b->size = arena->used_bytes < PAGES_BYTES ? BLOCK_BYTES : LARGE_BYTES;
    b->size = size > b->size ? size : b->size;
    b->pages = b->size >= PAGES_BYTES;
    b->bytes = b->pages ? cse_pages_new(b->size) : cse_aligned_calloc(b->size);
    if (b->pages)
        cse_pages_expect_use(b->bytes, b->size);
    b->next = arena->blocks;
    arena->blocks = b;
    return b;
}

void *cse_arena_alloc(cse_arena *arena, size_t size)
{
    size_t alignment = size >= 64 ? 64 : 16;
    block *b = arena->blocks;
    size_t start = b ? (b->used + alignment - 1) / alignment * alignment : 0;
    if (b == NULL || size > b->size || start > b->size - size) {
        b = block_new(arena, size);
        start = 0;
    }
    b->used = start + size;
    arena->used_bytes += size;
    return b->bytes + start;
}

char *cse_arena_string(cse_arena *arena, const char *text)
{
    if (text == NULL)
        return NULL;
    size_t size = strlen(text) + 1;
    return memcpy(cse_arena_alloc(arena, size), text, size);
}

char *cse_arena_printf(cse_arena *arena, const char *format, ...)
{
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    char *text = cse_arena_alloc(arena, (size_t)length + 1);
    vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    return text;
}

size_t cse_arena_used_bytes(const cse_arena *arena)
{
    return arena->used_bytes;
}

/* Arena allocator: allocations with one lifetime share blocks that are freed together.
 *
 * Graphs, traces and resolved settings live in arenas, so that their parts need no individual
 * owner. When memory is exhausted the process exits: no user of an arena could continue. */
#ifndef CSE_BASE_ARENA_H
#define CSE_BASE_ARENA_H

#include <stdarg.h>
#include <stddef.h>

#include "csengine/status.h"

typedef struct cse_arena cse_arena;

cse_arena *cse_arena_new(void);
void cse_arena_destroy(cse_arena **arena);
/* Makes all that lives in `from` live in `arena`; `from` is empty afterwards. */
void cse_arena_take(cse_arena *arena, cse_arena *from);

/* Zeroed, aligned to 64 bytes when `size` is at least 64, else to 16. Never NULL. */
void *cse_arena_alloc(cse_arena *arena, size_t size);

/* A zero-terminated copy owned by the arena; NULL for NULL. */
char *cse_arena_string(cse_arena *arena, const char *text);
char *cse_arena_printf(cse_arena *arena, const char *format, ...) CSE_PRINTF(2, 3);

/* Bytes handed out so far. */
size_t cse_arena_used_bytes(const cse_arena *arena);

/* malloc family that ends the process with a message when memory is exhausted. */
void *cse_malloc(size_t size);
void *cse_calloc(size_t count, size_t size);
void *cse_realloc(void *memory, size_t size);
char *cse_strdup(const char *text);
/* Aligned to 64 bytes and zeroed; release with free(). */
void *cse_aligned_calloc(size_t size);

/* Grows `array` (an lvalue pointer) so that it can hold `count + 1` elements of its type. */
#define CSE_GROW(array, count, capacity)                                          \
    do {                                                                          \
        if ((count) >= (capacity)) {                                              \
            (capacity) = (capacity) ? (capacity)*2 : 8;                           \
            (array) = cse_realloc((array), (size_t)(capacity) * sizeof *(array)); \
        }                                                                         \
    } while (0)

#endif

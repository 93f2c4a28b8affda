/* A hash table with open addressing, at most half full. */
#include "engine/base/name_index.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"

typedef struct cse_name_entry {
    const char *name; /* NULL: free */
    uint64_t hash;
    int number;
} entry;

static uint64_t hash_of(const char *name)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (; *name != '\0'; name++)
        hash = (hash ^ (unsigned char)*name) * UINT64_C(0x100000001b3);
    return hash ^ hash >> 29;
}

/* The entry of the name, or the free one that it would take. */
static entry *place_of(const cse_name_index *index, const char *name, uint64_t hash)
{
    uint64_t mask = (uint64_t)index->capacity - 1, at = hash & mask;
    while (index->entries[at].name != NULL &&
           (index->entries[at].hash != hash || strcmp(index->entries[at].name, name) != 0))
        at = (at + 1) & mask;
    return &index->entries[at];
}

int cse_name_index_find(const cse_name_index *index, const char *name)
{
    if (index->count == 0)
        return -1;
    const entry *found = place_of(index, name, hash_of(name));
    return found->name != NULL ? found->number : -1;
}

static void grow(cse_name_index *index)
{
    cse_name_index larger = { .count = index->count,
                              .capacity = index->capacity > 0 ? 2 * index->capacity : 64 };
    larger.entries = cse_calloc((size_t)larger.capacity, sizeof *larger.entries);
    for (int i = 0; i < index->capacity; i++)
        if (index->entries[i].name != NULL)
            *place_of(&larger, index->entries[i].name, index->entries[i].hash) = index->entries[i];
    free(index->entries);
    *index = larger;
}

void cse_name_index_add(cse_name_index *index, const char *name, int number)
{
    if (2 * index->count >= index->capacity)
        grow(index);
    uint64_t hash = hash_of(name);
    *place_of(index, name, hash) = (entry){ name, hash, number };
    index->count++;
}

void cse_name_index_clear(cse_name_index *index)
{
    free(index->entries);
    memset(index, 0, sizeof *index);
}

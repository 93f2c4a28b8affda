/* A file that was changed within the last moments is not put into the cache: it could be changed
 * again without another time of change. */
#include "dataloader/identity/data_cache.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "dataloader/identity/data_identity.h"
#include "engine/base/arena.h"
#include "engine/base/file_replace.h"

enum { MOST_CACHE_BYTES = 1 << 20 };
#define SECOND_NS INT64_C(1000000000)
#define SETTLED_NS (2 * SECOND_NS)

static void read_cache(const char *cache, cse_data_identity *kept)
{
    char *text = cse_calloc(1, MOST_CACHE_BYTES + 1);
    FILE *file = fopen(cache, "rbe");
    if (file != NULL) {
        size_t size = fread(text, 1, MOST_CACHE_BYTES, file);
        text[size] = '\0';
        fclose(file);
    }
    cse_data_identity_parse(text, kept);
    free(text);
}

static void write_cache(const char *cache, const cse_data_identity *kept)
{
    cse_text text = { 0 };
    cse_data_identity_print(kept, &text);
    cse_file_replace(cache, text.data, text.size);
    cse_text_clear(&text);
}

static cse_data_file *find_path(const cse_data_identity *kept, const char *path)
{
    for (int i = 0; i < kept->count; i++)
        if (strcmp(kept->files[i].path, path) == 0)
            return &kept->files[i];
    return NULL;
}

static void keep(const char *cache, cse_data_identity *kept, const char *path,
                 const cse_data_file *file)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (now.tv_sec * SECOND_NS + now.tv_nsec - file->changed_ns < SETTLED_NS)
        return;
    cse_data_file *place = find_path(kept, path);
    if (place == NULL) {
        CSE_GROW(kept->files, kept->count, kept->capacity);
        place = &kept->files[kept->count++];
        *place = (cse_data_file){ .path = cse_strdup(path) };
    }
    char *own = place->path;
    *place = *file;
    place->path = own;
    write_cache(cache, kept);
}

cse_status cse_data_cached_digest(int descriptor, const char *path, const char *cache,
                                  cse_data_file *file)
{
    cse_data_identity kept = { 0 };
    if (cache == NULL || file->bytes < CSE_DATA_KEPT_BYTES)
        return cse_data_file_digest(descriptor, path, file);
    read_cache(cache, &kept);
    const cse_data_file *known = find_path(&kept, path);
    cse_status status = CSE_OK;
    if (known != NULL && cse_data_file_same_facts(known, file)) {
        memcpy(file->digest, known->digest, sizeof file->digest);
    } else {
        status = cse_data_file_digest(descriptor, path, file);
        if (status == CSE_OK)
            keep(cache, &kept, path, file);
    }
    cse_data_identity_clear(&kept);
    return status;
}

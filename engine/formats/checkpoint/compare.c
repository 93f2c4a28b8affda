/* Compares two checkpoints by a merge of their sorted lists of tensors. */
#include "engine/formats/checkpoint/compare.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/arena.h"
#include "engine/base/types/dtype.h"
#include "engine/formats/checkpoint/file_bytes.h"
#include "engine/formats/checkpoint/seal.h"
#include "engine/formats/checkpoint/seal_line.h"

enum { BLOCK_BYTES = 1 << 18 };

typedef struct entry {
    cse_seal_line line;
    cse_dtype dtype;
} entry;

typedef struct source {
    const char *path;
    int descriptor;
    char *manifest;
    uint64_t limit; /* where the manifest begins */
    entry *entries;
    int count, capacity;
    unsigned char *block;
    crypto_generichash_state hash;
} source;

/* ---- the lists ---- */

static bool read_entry(const source *s, char *text, entry *e)
{
    if (!cse_seal_line_read(text, s->limit, &e->line))
        return false;
    e->dtype = cse_dtype_from_name(e->line.dtype);
    return e->dtype != CSE_DTYPE_COUNT && e->line.bytes % cse_dtype_size(e->dtype) == 0;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(((const entry *)a)->line.name, ((const entry *)b)->line.name);
}

static cse_status read_entries(source *s)
{
    char *rest = s->manifest, *line;
    while ((line = strsep(&rest, "\n")) != NULL && *line != '\0') {
        CSE_GROW(s->entries, s->count, s->capacity);
        if (!read_entry(s, line, &s->entries[s->count++]))
            return cse_fail(CSE_DATA, "%s: damaged in the list of its tensors", s->path);
    }
    if (s->count > 0)
        qsort(s->entries, (size_t)s->count, sizeof *s->entries, compare_names);
    return CSE_OK;
}

static cse_status open_source(source *s, const char *path)
{
    *s = (source){ .path = path, .descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) };
    if (s->descriptor < 0)
        return cse_fail(errno == ENOENT || errno == ENOTDIR ? CSE_NO_INPUT
                        : errno == EACCES                   ? CSE_PERMISSION
                                                            : CSE_IO,
                        "%s: cannot be opened: %s", path, strerror(errno));
    s->block = cse_malloc(BLOCK_BYTES);
    CSE_TRY(cse_seal_read(s->descriptor, path, &s->manifest, &s->limit));
    return read_entries(s);
}

static void close_source(source *s)
{
    if (s->descriptor >= 0)
        close(s->descriptor);
    free(s->manifest);
    free(s->entries);
    free(s->block);
}

/* ---- elements ---- */

static double element(cse_dtype dtype, const unsigned char *at)
{
    float single;
    int32_t integer;
    uint16_t half;
    switch (dtype) {
    case CSE_FLOAT32:
        memcpy(&single, at, sizeof single);
        return (double)single;
    case CSE_INT32:
        memcpy(&integer, at, sizeof integer);
        return (double)integer;
    case CSE_BOOL:
        return (double)*at;
    default:
        memcpy(&half, at, sizeof half);
        return (double)cse_float_from_format(dtype, half);
    }
}

static void add_block(cse_tensor_difference *d, cse_dtype dtype, const unsigned char *const at[2],
                      size_t bytes)
{
    size_t size = cse_dtype_size(dtype);
    for (size_t i = 0; i < bytes; i += size) {
        if (memcmp(at[0] + i, at[1] + i, size) == 0)
            continue;
        double a = element(dtype, at[0] + i), b = element(dtype, at[1] + i);
        d->differing++;
        if (!isfinite(a) || !isfinite(b)) {
            d->non_finite++;
            continue;
        }
        double absolute = fabs(a - b), largest = fmax(fabs(a), fabs(b));
        d->max_absolute = fmax(d->max_absolute, absolute);
        if (largest > 0)
            d->max_relative = fmax(d->max_relative, absolute / largest);
    }
}

static cse_status compare_elements(source s[2], const entry *const e[2], cse_tensor_difference *d)
{
    const unsigned char *const blocks[2] = { s[0].block, s[1].block };
    for (int k = 0; k < 2; k++)
        cse_seal_hash_begin_tensor(&s[k].hash, &e[k]->line);
    for (uint64_t done = 0; done < e[0]->line.bytes;) {
        size_t size =
            e[0]->line.bytes - done < BLOCK_BYTES ? (size_t)(e[0]->line.bytes - done) : BLOCK_BYTES;
        for (int k = 0; k < 2; k++) {
            if (cse_read_at(s[k].descriptor, s[k].block, size, e[k]->line.offset + done) !=
                (int64_t)size)
                return cse_fail(CSE_IO, "%s: cannot be read: %s", s[k].path, strerror(errno));
            crypto_generichash_update(&s[k].hash, s[k].block, size);
        }
        add_block(d, e[0]->dtype, blocks, size);
        done += size;
    }
    for (int k = 0; k < 2; k++)
        CSE_TRY(cse_seal_hash_check_tensor(&s[k].hash, &e[k]->line, s[k].path));
    return CSE_OK;
}

/* ---- the merge ---- */

typedef struct walk {
    const cse_comparison *wanted;
    cse_comparison_result *result;
    source sources[2];
    uint64_t read_bytes;
    bool full;
    void (*take)(void *self, const cse_tensor_difference *difference);
    void *self;
} walk;

static cse_status take_pair(walk *w, const entry *first, const entry *second)
{
    const entry *const both[2] = { first, second };
    const entry *known = first != NULL ? first : second;
    cse_tensor_difference d = { .name = known->line.name };
    w->result->tensors++;
    if (first != NULL && second != NULL && strcmp(first->line.digest, second->line.digest) == 0) {
        w->result->same++;
        return CSE_OK;
    }
    int64_t number = w->result->differing++;
    w->full = w->full || w->result->taken == w->wanted->limit ||
              (w->wanted->most_bytes > 0 && w->result->taken > 0 &&
               w->read_bytes >= (uint64_t)w->wanted->most_bytes);
    if (number < w->wanted->skip || w->full)
        return CSE_OK;
    for (int k = 0; k < 2; k++) {
        d.dtypes[k] = both[k] != NULL ? both[k]->line.dtype : NULL;
        d.shapes[k] = both[k] != NULL ? both[k]->line.shape : NULL;
    }
    if (first == NULL || second == NULL) {
        d.kind = first != NULL ? CSE_ONLY_IN_FIRST : CSE_ONLY_IN_SECOND;
    } else if (first->dtype != second->dtype ||
               strcmp(first->line.shape, second->line.shape) != 0 ||
               first->line.bytes != second->line.bytes) {
        d.kind = CSE_DIFFERENT_FORM;
    } else {
        d.kind = CSE_DIFFERENT_VALUES;
        d.elements = (int64_t)(first->line.bytes / cse_dtype_size(first->dtype));
        CSE_TRY(compare_elements(w->sources, both, &d));
        w->read_bytes += first->line.bytes + second->line.bytes;
    }
    w->result->taken++;
    w->take(w->self, &d);
    return CSE_OK;
}

static cse_status walk_both(walk *w)
{
    const source *a = &w->sources[0], *b = &w->sources[1];
    int i = 0, k = 0;
    while (i < a->count || k < b->count) {
        int order = i == a->count   ? 1
                    : k == b->count ? -1
                                    : strcmp(a->entries[i].line.name, b->entries[k].line.name);
        CSE_TRY(
            take_pair(w, order <= 0 ? &a->entries[i] : NULL, order >= 0 ? &b->entries[k] : NULL));
        i += order <= 0;
        k += order >= 0;
    }
    return CSE_OK;
}

cse_status cse_checkpoint_compare(const cse_comparison *wanted, cse_comparison_result *result,
                                  void (*take)(void *self, const cse_tensor_difference *difference),
                                  void *self)
{
    walk w = { .wanted = wanted,
               .result = result,
               .sources = { { .descriptor = -1 }, { .descriptor = -1 } },
               .take = take,
               .self = self };
    *result = (cse_comparison_result){ 0 };
    cse_status status = open_source(&w.sources[0], wanted->first);
    if (status == CSE_OK)
        status = open_source(&w.sources[1], wanted->second);
    if (status == CSE_OK)
        status = walk_both(&w);
    close_source(&w.sources[0]);
    close_source(&w.sources[1]);
    return status;
}

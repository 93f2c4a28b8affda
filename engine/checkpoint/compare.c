/* Two sorted lists of tensors, walked side by side. */
#include "engine/checkpoint/compare.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/arena.h"
#include "engine/checkpoint/digest.h"
#include "engine/checkpoint/seal.h"
#include "engine/types/dtype.h"

enum { BLOCK_BYTES = 1 << 18 };

/* A line of a manifest, cut into its parts. */
typedef struct entry {
    uint64_t offset, bytes;
    const char *name, *shape;
    char digest[CSE_DIGEST_DIGITS + 1], dtype_text[32];
    cse_dtype dtype; /* CSE_DTYPE_COUNT: unknown */
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

static cse_dtype dtype_of(const char *name)
{
    int dtype = 0;
    while (dtype < CSE_DTYPE_COUNT && strcmp(cse_dtype_name((cse_dtype)dtype), name) != 0)
        dtype++;
    return (cse_dtype)dtype;
}

/* "tensor OFFSET BYTES BLAKE2B DTYPE [SHAPE] NAME" */
static bool read_line(const source *s, char *line, entry *e)
{
    int used = 0;
    if (sscanf(line, "tensor %" SCNu64 " %" SCNu64 " %64[0-9a-f] %31s %n", &e->offset, &e->bytes,
               e->digest, e->dtype_text, &used) != 4 ||
        used == 0 || line[used] != '[')
        return false;
    char *end = strchr(line + used, ']');
    if (end == NULL || end[1] != ' ' || e->offset > s->limit || e->bytes > s->limit - e->offset)
        return false;
    end[1] = '\0';
    e->shape = line + used;
    e->name = end + 2;
    e->dtype = dtype_of(e->dtype_text);
    return e->dtype != CSE_DTYPE_COUNT && e->bytes % cse_dtype_size(e->dtype) == 0;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(((const entry *)a)->name, ((const entry *)b)->name);
}

static cse_status read_entries(source *s)
{
    char *rest = s->manifest, *line;
    while ((line = strsep(&rest, "\n")) != NULL && *line != '\0') {
        CSE_GROW(s->entries, s->count, s->capacity);
        if (!read_line(s, line, &s->entries[s->count++]))
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

static void begin_hash(source *s, const entry *e)
{
    cse_text head = { 0 };
    cse_text_add(&head, "%s\n%s\n%s\n", e->name, e->dtype_text, e->shape);
    if (sodium_init() < 0)
        abort();
    crypto_generichash_init(&s->hash, NULL, 0, CSE_DIGEST_DIGITS / 2);
    crypto_generichash_update(&s->hash, (const unsigned char *)head.data, head.size);
    cse_text_clear(&head);
}

static cse_status end_hash(source *s, const entry *e)
{
    unsigned char bytes[CSE_DIGEST_DIGITS / 2];
    char digits[CSE_DIGEST_DIGITS + 1];
    crypto_generichash_final(&s->hash, bytes, sizeof bytes);
    sodium_bin2hex(digits, sizeof digits, bytes, sizeof bytes);
    if (strcmp(digits, e->digest) == 0)
        return CSE_OK;
    return cse_fail(CSE_DATA,
                    "%s: tensor '%s' is damaged: its BLAKE2b digest does not match; use another "
                    "checkpoint",
                    s->path, e->name);
}

static cse_status compare_elements(source s[2], const entry *const e[2], cse_tensor_difference *d)
{
    const unsigned char *const blocks[2] = { s[0].block, s[1].block };
    for (int k = 0; k < 2; k++)
        begin_hash(&s[k], e[k]);
    for (uint64_t done = 0; done < e[0]->bytes;) {
        size_t size = e[0]->bytes - done < BLOCK_BYTES ? (size_t)(e[0]->bytes - done) : BLOCK_BYTES;
        for (int k = 0; k < 2; k++) {
            if (cse_read_at(s[k].descriptor, s[k].block, size, e[k]->offset + done) !=
                (int64_t)size)
                return cse_fail(CSE_IO, "%s: cannot be read: %s", s[k].path, strerror(errno));
            crypto_generichash_update(&s[k].hash, s[k].block, size);
        }
        add_block(d, e[0]->dtype, blocks, size);
        done += size;
    }
    CSE_TRY(end_hash(&s[0], e[0]));
    return end_hash(&s[1], e[1]);
}

/* ---- the walk ---- */

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
    cse_tensor_difference d = { .name = known->name };
    w->result->tensors++;
    if (first != NULL && second != NULL && strcmp(first->digest, second->digest) == 0) {
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
        d.dtypes[k] = both[k] != NULL ? both[k]->dtype_text : NULL;
        d.shapes[k] = both[k] != NULL ? both[k]->shape : NULL;
    }
    if (first == NULL || second == NULL) {
        d.kind = first != NULL ? CSE_ONLY_IN_FIRST : CSE_ONLY_IN_SECOND;
    } else if (first->dtype != second->dtype || strcmp(first->shape, second->shape) != 0 ||
               first->bytes != second->bytes) {
        d.kind = CSE_DIFFERENT_FORM;
    } else {
        d.kind = CSE_DIFFERENT_VALUES;
        d.elements = (int64_t)(first->bytes / cse_dtype_size(first->dtype));
        CSE_TRY(compare_elements(w->sources, both, &d));
        w->read_bytes += first->bytes + second->bytes;
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
                                    : strcmp(a->entries[i].name, b->entries[k].name);
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

/* The seal's digest first, then its lines, then the elements. */
#include "engine/formats/checkpoint/sealed_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "engine/base/arena.h"
#include "engine/formats/checkpoint/checkpoint.h"
#include "engine/formats/checkpoint/digest.h"
#include "engine/formats/checkpoint/elements.h"
#include "engine/formats/checkpoint/facts.h"
#include "engine/formats/checkpoint/names.h"
#include "engine/formats/checkpoint/parallel.h"
#include "engine/formats/checkpoint/seal.h"
#include "engine/formats/checkpoint/seal_line.h"
#include "engine/formats/checkpoint/seal_rest.h"

typedef struct placed {
    cse_seal_line line;
    bool whole;
} placed;

typedef struct reading {
    const char *path;
    int descriptor;
    bool keep,
        leaves;     /* elements: are returned in memory; leave the cache when they are verified */
    uint64_t limit; /* elements end before it */
    cse_arena *arena;
    cse_checkpoint *checkpoint;
    placed *places; /* of checkpoint->tensors */
    int place_count, place_capacity, capacity;
    const cse_checkpoint *written; /* what must be in the file; NULL: not known */
    int *written_order;            /* of its tensors, by name */
} reading;

static cse_status refuse(const reading *r, const char *what)
{
    return cse_fail(CSE_DATA, "%s: %s in the seal at its end; use another checkpoint", r->path,
                    what);
}

/* ---- the lines ---- */

/* "[128, 784]", as it is printed and nothing else. */
static bool read_shape(const char *text, cse_shape *shape)
{
    char again[CSE_SHAPE_TEXT_BYTES];
    const char *at = text + 1;
    *shape = (cse_shape){ .rank = 0 };
    while (*at != ']' && *at != '\0' && shape->rank < CSE_MAX_RANK) {
        char *end = NULL;
        shape->dims[shape->rank++] = strtoll(at, &end, 10);
        if (end == at)
            return false;
        at = end + strspn(end, ", ");
    }
    return strcmp(cse_shape_text(*shape, again, sizeof again), text) == 0;
}

/* Whether the elements of the shape take just so many bytes. */
static bool takes(const cse_checkpoint_tensor *tensor, uint64_t bytes)
{
    uint64_t product = cse_dtype_size(tensor->dtype);
    bool empty = false;
    for (int i = 0; i < tensor->shape.rank; i++) {
        if (tensor->shape.dims[i] < 0)
            return false;
        empty = empty || tensor->shape.dims[i] == 0;
    }
    for (int i = 0; !empty && i < tensor->shape.rank; i++)
        if (__builtin_mul_overflow(product, (uint64_t)tensor->shape.dims[i], &product))
            return false;
    return bytes == (empty ? 0 : product);
}

static cse_status read_tensor(reading *r, char *text)
{
    placed place = { .whole = false };
    cse_checkpoint_tensor tensor = { .data = NULL };
    if (!cse_seal_line_read(text, r->limit, &place.line))
        return refuse(r, "a malformed line");
    tensor.name = place.line.name;
    tensor.dtype = cse_dtype_from_name(place.line.dtype);
    if (!cse_checkpoint_name_is_good(tensor.name) || tensor.dtype == CSE_DTYPE_COUNT ||
        strcmp(cse_dtype_name(tensor.dtype), place.line.dtype) != 0 ||
        !read_shape(place.line.shape, &tensor.shape) || !takes(&tensor, place.line.bytes))
        return refuse(r, "a name, type or shape that csengine does not write");
    cse_checkpoint *checkpoint = r->checkpoint;
    CSE_GROW(checkpoint->tensors, checkpoint->tensor_count, r->capacity);
    checkpoint->tensors[checkpoint->tensor_count++] = tensor;
    CSE_GROW(r->places, r->place_count, r->place_capacity);
    r->places[r->place_count++] = place;
    return CSE_OK;
}

static cse_status read_lines(reading *r, char *lines)
{
    char *rest = lines, *line;
    while ((line = strsep(&rest, "\n")) != NULL && *line != '\0')
        CSE_TRY(read_tensor(r, line));
    if (rest == NULL || *rest == '\0')
        return cse_fail(CSE_DATA,
                        "%s: was written by an earlier csengine; 'csengine checkpoint convert %s "
                        "NEW' writes it anew",
                        r->path, r->path);
    if (!cse_facts_read(rest, r->arena, r->checkpoint))
        return refuse(r, "facts about the run that are malformed");
    const char *repeated = cse_checkpoint_repeated_name(r->checkpoint);
    return repeated == NULL ? CSE_OK : refuse(r, "two tensors of one name");
}

/* ---- the elements ---- */

static void check_one(void *self, int index)
{
    reading *r = self;
    placed *place = &r->places[index];
    char digest[CSE_DIGEST_DIGITS + 1];
    crypto_generichash_state hash;
    cse_seal_hash_begin_tensor(&hash, &place->line);
    /* The memory is this reading's own until it is returned. */
    place->whole = cse_elements_read(r->descriptor, place->line.offset, place->line.bytes,
                                     (void *)(uintptr_t)r->checkpoint->tensors[index].data, &hash);
    cse_digest_end(&hash, digest);
    place->whole = place->whole && strcmp(place->line.digest, digest) == 0;
    if (r->leaves)
        posix_fadvise(r->descriptor, (off_t)place->line.offset, (off_t)place->line.bytes,
                      POSIX_FADV_DONTNEED);
}

/* With the elements in memory, whose digest is that of the line. */
static void compare_one(void *self, int index)
{
    reading *r = self;
    placed *place = &r->places[index];
    const cse_checkpoint_tensor *read = &r->checkpoint->tensors[index];
    const cse_checkpoint_tensor *written = &r->written->tensors[r->written_order[index]];
    place->whole = strcmp(read->name, written->name) == 0 && read->dtype == written->dtype &&
                   cse_shape_equal(read->shape, written->shape) &&
                   place->line.bytes == cse_checkpoint_tensor_bytes(written) &&
                   cse_elements_equal(r->descriptor, place->line.offset, written);
}

static cse_status tell_damage(const reading *r, int index)
{
    return cse_fail(CSE_DATA,
                    "%s: tensor '%s' is damaged: its BLAKE2b digest does not match; use another "
                    "checkpoint",
                    r->path, r->checkpoint->tensors[index].name);
}

static cse_status check_elements(reading *r)
{
    for (int i = 0; i < r->place_count && r->keep; i++)
        r->checkpoint->tensors[i].data = cse_arena_alloc(r->arena, r->places[i].line.bytes + 1);
    cse_parallel_for(r->place_count, r->written != NULL ? compare_one : check_one, r);
    for (int i = 0; i < r->place_count; i++)
        if (!r->places[i].whole)
            return tell_damage(r, i);
    return CSE_OK;
}

/* All but the elements. */
static cse_status read_seal(reading *r)
{
    char *lines = NULL;
    CSE_TRY(cse_seal_verify_rest(r->descriptor, r->path));
    CSE_TRY(cse_seal_read(r->descriptor, r->path, &lines, &r->limit));
    /* Names point into it. */
    char *kept = cse_arena_string(r->arena, lines);
    free(lines);
    return read_lines(r, kept);
}

/* What was verified leaves memory, and is read again as it is used. */
static cse_status map_elements(const reading *r, cse_checkpoint_owned *owned)
{
    struct stat facts;
    if (fstat(r->descriptor, &facts) != 0)
        return cse_fail(CSE_IO, "%s: cannot be read: %s", r->path, strerror(errno));
    void *mapped =
        mmap(NULL, (size_t)facts.st_size, PROT_READ, MAP_SHARED | MAP_NORESERVE, r->descriptor, 0);
    if (mapped == MAP_FAILED)
        return cse_fail(CSE_TEMPORARY, "%s: cannot map %lld bytes: %s", r->path,
                        (long long)facts.st_size, strerror(errno));
    owned->mapped = mapped;
    owned->mapped_bytes = (size_t)facts.st_size;
    for (int i = 0; i < r->place_count; i++) {
        r->checkpoint->tensors[i].data = (unsigned char *)mapped + r->places[i].line.offset;
        r->checkpoint->tensors[i].in_file = true;
    }
    return CSE_OK;
}

static cse_status read_file(reading *r)
{
    CSE_TRY(read_seal(r));
    if (r->written != NULL && r->written->tensor_count != r->place_count)
        return refuse(r, "another number of tensors than was written");
    return check_elements(r);
}

cse_status cse_sealed_file_read(int descriptor, const char *path, cse_sealed_use use,
                                cse_checkpoint_owned *owned)
{
    reading r = { .path = path,
                  .descriptor = descriptor,
                  .keep = use == CSE_SEALED_KEPT,
                  .leaves = use == CSE_SEALED_MAPPED,
                  .arena = owned->arena,
                  .checkpoint = &owned->checkpoint };
    cse_status status = read_file(&r);
    if (status == CSE_OK && use == CSE_SEALED_MAPPED)
        status = map_elements(&r, owned);
    free(r.places);
    return status;
}

cse_status cse_sealed_file_confirm(int descriptor, const char *path,
                                   const cse_checkpoint *checkpoint)
{
    cse_checkpoint_owned *owned = cse_checkpoint_owned_new();
    cse_checkpoint *read = &owned->checkpoint;
    reading r = { .path = path,
                  .descriptor = descriptor,
                  .arena = owned->arena,
                  .checkpoint = read,
                  .written = checkpoint,
                  .written_order = cse_checkpoint_name_order(checkpoint) };
    cse_status status = read_file(&r);
    free(r.places);
    free(r.written_order);
    cse_checkpoint_destroy(&read);
    return status;
}

/* ---- one tensor after another ---- */

struct cse_sealed_reader {
    reading r;
    cse_checkpoint_owned *owned;
};

cse_status cse_sealed_reader_open(int descriptor, const char *path, cse_sealed_reader **reader)
{
    cse_sealed_reader *opened = cse_calloc(1, sizeof *opened);
    opened->owned = cse_checkpoint_owned_new();
    opened->r = (reading){ .path = cse_arena_string(opened->owned->arena, path),
                           .descriptor = descriptor,
                           .arena = opened->owned->arena,
                           .checkpoint = &opened->owned->checkpoint };
    *reader = opened;
    cse_status status = read_seal(&opened->r);
    if (status != CSE_OK)
        cse_sealed_reader_close(reader);
    return status;
}

void cse_sealed_reader_close(cse_sealed_reader **reader)
{
    if (*reader == NULL)
        return;
    cse_checkpoint *checkpoint = &(*reader)->owned->checkpoint;
    free((*reader)->r.places);
    cse_checkpoint_destroy(&checkpoint);
    free(*reader);
    *reader = NULL;
}

const cse_checkpoint *cse_sealed_reader_view(const cse_sealed_reader *reader)
{
    return &reader->owned->checkpoint;
}

/* Hashes what lies before and behind the part as well. */
cse_status cse_sealed_reader_read(cse_sealed_reader *reader, int index, uint64_t first,
                                  uint64_t bytes, void *data)
{
    const reading *r = &reader->r;
    const cse_seal_line *line = &r->places[index].line;
    char digest[CSE_DIGEST_DIGITS + 1];
    crypto_generichash_state hash;
    cse_seal_hash_begin_tensor(&hash, line);
    const bool whole = cse_elements_read(r->descriptor, line->offset, first, NULL, &hash) &&
                       cse_elements_read(r->descriptor, line->offset + first, bytes, data, &hash) &&
                       cse_elements_read(r->descriptor, line->offset + first + bytes,
                                         line->bytes - first - bytes, NULL, &hash);
    cse_digest_end(&hash, digest);
    return whole && strcmp(line->digest, digest) == 0 ? CSE_OK : tell_damage(r, index);
}

/* The side of shared_checkpoint.h that writes the file.
 *
 * The memory was made by the process that started this one; what its table says is checked against
 * its size all the same, so that a program of another version fails with a message. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "engine/base/arena.h"
#include "engine/formats/checkpoint/checkpoint.h"
#include "engine/formats/checkpoint/digest.h"
#include "engine/formats/checkpoint/file_bytes.h"
#include "engine/formats/checkpoint/format.h"
#include "engine/formats/checkpoint/shared_checkpoint.h"

enum { NO_OUTCOME = 70 }; /* EX_SOFTWARE */

typedef struct shared_view {
    const unsigned char *base;
    uint64_t bytes;
    const cse_shared_head *head;
    const char *texts;
    cse_checkpoint checkpoint;
    bool in_file;
} shared_view;

static bool lies_within(const shared_view *v, uint64_t offset, uint64_t bytes)
{
    return offset <= v->bytes && bytes <= v->bytes - offset;
}

static bool open_view(int descriptor, shared_view *v)
{
    struct stat status;
    if (fstat(descriptor, &status) != 0 || status.st_size < CSE_SHARED_HEAD_BYTES)
        return false;
    void *base = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_SHARED, descriptor, 0);
    if (base == MAP_FAILED)
        return false;
    madvise(base, (size_t)status.st_size, MADV_DONTDUMP);
    v->base = base;
    v->in_file = fcntl(descriptor, F_GET_SEALS) < 0; /* that is no memfd */
    v->bytes = (uint64_t)status.st_size;
    v->head = base;
    const cse_shared_head *h = v->head;
    if (memcmp(h->mark, CSE_SHARED_MARK, sizeof h->mark) != 0 || h->bytes != v->bytes ||
        h->tensor_count < 0 || memchr(h->path, '\0', sizeof h->path) == NULL ||
        h->table % _Alignof(cse_shared_tensor) != 0 ||
        !lies_within(v, h->table, (uint64_t)h->tensor_count * sizeof(cse_shared_tensor)) ||
        !lies_within(v, h->texts, h->texts_bytes))
        return false;
    v->texts = (const char *)v->base + h->texts;
    return h->texts_bytes == 0 || v->texts[h->texts_bytes - 1] == '\0';
}

static bool take_text(const shared_view *v, int64_t place, const char **text)
{
    *text = place == CSE_SHARED_NO_TEXT ? NULL : v->texts + place;
    return place == CSE_SHARED_NO_TEXT || (place >= 0 && (uint64_t)place < v->head->texts_bytes);
}

static bool take_facts(shared_view *v)
{
    const cse_shared_head *h = v->head;
    cse_checkpoint *c = &v->checkpoint;
    *c = (cse_checkpoint){ .global_step = h->global_step,
                           .seed = h->seed,
                           .samples_seen = h->samples_seen };
    return take_text(v, h->model_name, &c->model_name) && take_text(v, h->config, &c->config) &&
           take_text(v, h->kernels, &c->kernels) && take_text(v, h->links, &c->links) &&
           take_text(v, h->values, &c->values) && take_text(v, h->data, &c->data) &&
           take_text(v, h->origin, &c->origin) && take_text(v, h->chain, &c->chain);
}

static bool take_tensors(shared_view *v)
{
    const cse_shared_tensor *table = (const void *)(v->base + v->head->table);
    cse_checkpoint *c = &v->checkpoint;
    c->tensors = cse_calloc((size_t)v->head->tensor_count + 1, sizeof *c->tensors);
    for (int i = 0; i < v->head->tensor_count; i++) {
        cse_checkpoint_tensor *tensor = &c->tensors[c->tensor_count++];
        *tensor = (cse_checkpoint_tensor){ .dtype = (cse_dtype)table[i].dtype,
                                           .shape = table[i].shape,
                                           .data = v->base + table[i].offset,
                                           .in_file = v->in_file };
        if (!take_text(v, table[i].name, &tensor->name) || tensor->name == NULL ||
            table[i].dtype < 0 || table[i].dtype >= CSE_DTYPE_COUNT || tensor->shape.rank < 0 ||
            tensor->shape.rank > CSE_MAX_RANK ||
            !lies_within(v, table[i].offset, cse_checkpoint_tensor_bytes(tensor)))
            return false;
    }
    return true;
}

static int leave_outcome(int descriptor, cse_shared_ending *ending)
{
    ending->stands = 1;
    return cse_write_at(descriptor, ending, sizeof *ending, CSE_SHARED_ENDING_AT) == 0 ? 0
                                                                                       : NO_OUTCOME;
}

static cse_status write_file(const shared_view *v, int file, char digest[65])
{
    const char *path = v->head->path;
    if (file < 0)
        return cse_checkpoint_save_digest(&v->checkpoint, path, digest);
    return cse_checkpoint_fill(
        &v->checkpoint, &(cse_format_target){ .descriptor = file, .path = path, .digest = digest });
}

int cse_shared_checkpoint_fill(int descriptor, int file)
{
    shared_view v = { 0 };
    cse_shared_ending ending = { 0 };
    cse_shared_outcome *outcome = &ending.outcome;
    if (!open_view(descriptor, &v) || !take_facts(&v) || !take_tensors(&v))
        outcome->status = cse_fail(CSE_INTERNAL, "the checkpoint's memory is none of this program; "
                                                 "is CSENGINE_EXECUTABLE another version?");
    else
        outcome->status = write_file(&v, file, outcome->digest);
    if (outcome->status != CSE_OK)
        snprintf(outcome->message, sizeof outcome->message, "%s", cse_error_message());
    free(v.checkpoint.tensors);
    if (v.base != NULL)
        munmap((void *)(uintptr_t)v.base, v.bytes);
    return leave_outcome(descriptor, &ending);
}

int cse_shared_checkpoint_write(int descriptor)
{
    return cse_shared_checkpoint_fill(descriptor, -1);
}

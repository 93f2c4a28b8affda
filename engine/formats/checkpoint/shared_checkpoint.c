/* The memory of shared_checkpoint.h, from the side that fills it. */
#include "engine/formats/checkpoint/shared_checkpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "engine/base/arena.h"
#include "engine/base/text.h"
#include "engine/base/unnamed_file.h"
#include "engine/formats/checkpoint/digest.h"
#include "engine/formats/checkpoint/file_bytes.h"
#include "engine/formats/checkpoint/shared_layout.h"

struct cse_shared_checkpoint {
    int descriptor;
    bool in_file;
    uint64_t end; /* of what was put */
    unsigned char *mapped;
    uint64_t mapped_bytes;
};

/* Elements begin on lines of the cache, as in other memory of tensors. */
enum { ALIGNMENT = 64 };

static cse_status no_memory(const char *what)
{
    return cse_fail(CSE_TEMPORARY, "checkpoint: no memory to %s: %s", what, strerror(errno));
}

cse_status cse_shared_checkpoint_new(cse_shared_checkpoint **shared)
{
    return cse_shared_checkpoint_new_in(NULL, shared);
}

cse_status cse_shared_checkpoint_new_in(const char *directory, cse_shared_checkpoint **shared)
{
    *shared = NULL;
    const int descriptor =
        directory != NULL ? cse_unnamed_file(directory)
                          : memfd_create("csengine-checkpoint", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (descriptor < 0)
        return no_memory("copy the states to");
    cse_shared_checkpoint *made = cse_calloc(1, sizeof *made);
    made->descriptor = descriptor;
    made->in_file = directory != NULL;
    made->end = CSE_SHARED_HEAD_BYTES;
    *shared = made;
    return CSE_OK;
}

void cse_shared_checkpoint_destroy(cse_shared_checkpoint **shared)
{
    if (*shared == NULL)
        return;
    if ((*shared)->mapped != NULL)
        munmap((*shared)->mapped, (*shared)->mapped_bytes);
    close((*shared)->descriptor);
    free(*shared);
    *shared = NULL;
}

cse_status cse_shared_checkpoint_put(cse_shared_checkpoint *shared, const void *values,
                                     size_t bytes, uint64_t *offset)
{
    *offset = (shared->end + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (cse_write_at(shared->descriptor, values, bytes, *offset) != 0)
        return no_memory("copy the states to");
    shared->end = *offset + bytes;
    if (shared->in_file) {
        if (sync_file_range(shared->descriptor, (off64_t)*offset, (off64_t)bytes,
                            SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER) != 0)
            return no_memory("copy the states to");
        posix_fadvise(shared->descriptor, (off_t)*offset, (off_t)bytes, POSIX_FADV_DONTNEED);
    }
    return CSE_OK;
}

cse_status cse_shared_checkpoint_map(cse_shared_checkpoint *shared)
{
    void *mapped =
        mmap(NULL, shared->end, PROT_READ, MAP_SHARED | MAP_NORESERVE, shared->descriptor, 0);
    if (mapped == MAP_FAILED)
        return no_memory("read the states from");
    shared->mapped = mapped;
    shared->mapped_bytes = shared->end;
    return CSE_OK;
}

const void *cse_shared_checkpoint_at_view(const cse_shared_checkpoint *shared, uint64_t offset)
{
    return shared->mapped + offset;
}

bool cse_shared_checkpoint_has(const cse_shared_checkpoint *shared, const void *values)
{
    const uintptr_t at = (uintptr_t)values, first = (uintptr_t)shared->mapped;
    return shared->mapped != NULL && at >= first && at - first < shared->mapped_bytes;
}

int cse_shared_checkpoint_descriptor(const cse_shared_checkpoint *shared)
{
    return shared->descriptor;
}

uint64_t cse_shared_checkpoint_bytes(const cse_shared_checkpoint *shared)
{
    return shared->end;
}

/* Where the text lies among the texts; -1 for NULL. */
static int64_t add_text(cse_text *texts, const char *text)
{
    if (text == NULL)
        return CSE_SHARED_NO_TEXT;
    const int64_t place = (int64_t)texts->size;
    cse_text_add(texts, "%s", text);
    cse_text_add_bytes(texts, "", 1);
    return place;
}

static cse_status put_tensors(cse_shared_checkpoint *shared, const cse_checkpoint *checkpoint,
                              cse_shared_tensor *table, cse_text *texts)
{
    for (int i = 0; i < checkpoint->tensor_count; i++) {
        const cse_checkpoint_tensor *tensor = &checkpoint->tensors[i];
        table[i] = (cse_shared_tensor){ .name = add_text(texts, tensor->name),
                                        .dtype = (int32_t)tensor->dtype,
                                        .shape = tensor->shape };
        if (cse_shared_checkpoint_has(shared, tensor->data))
            table[i].offset = (uint64_t)((const unsigned char *)tensor->data - shared->mapped);
        else
            CSE_TRY(cse_shared_checkpoint_put(
                shared, tensor->data, cse_checkpoint_tensor_bytes(tensor), &table[i].offset));
    }
    return CSE_OK;
}

static cse_status put_all(cse_shared_checkpoint *shared, const cse_checkpoint *checkpoint,
                          cse_shared_head *head, cse_shared_tensor *table)
{
    cse_text texts = { 0 };
    cse_status status = put_tensors(shared, checkpoint, table, &texts);
    head->model_name = add_text(&texts, checkpoint->model_name);
    head->config = add_text(&texts, checkpoint->config);
    head->kernels = add_text(&texts, checkpoint->kernels);
    head->links = add_text(&texts, checkpoint->links);
    head->values = add_text(&texts, checkpoint->values);
    head->origin = add_text(&texts, checkpoint->origin);
    head->data = add_text(&texts, checkpoint->data);
    head->chain = add_text(&texts, checkpoint->chain);
    head->texts_bytes = texts.size;
    if (status == CSE_OK)
        status = cse_shared_checkpoint_put(
            shared, table, (size_t)checkpoint->tensor_count * sizeof *table, &head->table);
    if (status == CSE_OK && texts.size > 0)
        status = cse_shared_checkpoint_put(shared, texts.data, texts.size, &head->texts);
    cse_text_clear(&texts);
    return status;
}

cse_status cse_shared_checkpoint_finish(cse_shared_checkpoint *shared,
                                        const cse_checkpoint *checkpoint, const char *path)
{
    cse_shared_head *head = cse_calloc(1, sizeof *head);
    cse_shared_tensor *table = cse_calloc((size_t)checkpoint->tensor_count + 1, sizeof *table);
    snprintf(head->path, sizeof head->path, "%s", path);
    head->tensor_count = checkpoint->tensor_count;
    head->global_step = checkpoint->global_step;
    head->seed = checkpoint->seed;
    head->samples_seen = checkpoint->samples_seen;
    memcpy(head->mark, CSE_SHARED_MARK, sizeof head->mark);
    cse_status status = put_all(shared, checkpoint, head, table);
    head->bytes = shared->end;
    if (status == CSE_OK && (ftruncate(shared->descriptor, (off_t)shared->end) != 0 ||
                             cse_write_at(shared->descriptor, head, sizeof *head, 0) != 0))
        status = no_memory("describe a checkpoint in");
    if (status == CSE_OK)
        fcntl(shared->descriptor, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
    free(table);
    free(head);
    return status;
}

bool cse_shared_checkpoint_outcome(const cse_shared_checkpoint *shared, cse_shared_outcome *outcome)
{
    cse_shared_ending ending;
    if (cse_read_at(shared->descriptor, &ending, sizeof ending, CSE_SHARED_ENDING_AT) !=
            (int64_t)sizeof ending ||
        ending.stands != 1)
        return false;
    *outcome = ending.outcome;
    outcome->digest[sizeof outcome->digest - 1] = '\0';
    outcome->message[sizeof outcome->message - 1] = '\0';
    return true;
}

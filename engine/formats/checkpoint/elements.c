/* Writing, reading and comparing block by block. */
#include "engine/formats/checkpoint/elements.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"
#include "engine/formats/checkpoint/file_bytes.h"
#include "engine/formats/checkpoint/parallel.h"

enum { BLOCK_BYTES = 1 << 18, LARGE_BYTES = 1 << 20 };

typedef struct writing {
    const cse_checkpoint *checkpoint;
    int descriptor;
    cse_element_place *places;
    atomic_int error;
} writing;

static size_t block_at(uint64_t done, uint64_t bytes)
{
    return bytes - done < BLOCK_BYTES ? (size_t)(bytes - done) : BLOCK_BYTES;
}

static void write_tensor(writing *w, int index)
{
    const cse_checkpoint_tensor *tensor = &w->checkpoint->tensors[index];
    const uint64_t bytes = cse_checkpoint_tensor_bytes(tensor), offset = w->places[index].offset;
    const unsigned char *data = tensor->data;
    crypto_generichash_state hash;
    cse_checkpoint_digest_head(&hash, tensor);
    cse_tensor_pass(tensor, 0);
    for (uint64_t done = 0; done < bytes; done += BLOCK_BYTES) {
        const size_t size = block_at(done, bytes);
        crypto_generichash_update(&hash, data + done, size);
        if (atomic_load(&w->error) == 0 &&
            cse_write_at(w->descriptor, data + done, size, offset + done) != 0)
            atomic_store(&w->error, errno != 0 ? errno : EIO);
        cse_tensor_pass(tensor, done + size);
    }
    cse_digest_end(&hash, w->places[index].digest);
    /* The disk begins at once with what is large, while other tensors are written and the file is
     * read again; fsync waits for it. A hint: that it is refused changes nothing. */
    if (bytes >= LARGE_BYTES && atomic_load(&w->error) == 0)
        sync_file_range(w->descriptor, (off64_t)offset, (off64_t)bytes, SYNC_FILE_RANGE_WRITE);
}

static void write_one(void *self, int index)
{
    write_tensor(self, index);
}

static void join(const writing *w, char digest[CSE_DIGEST_DIGITS + 1])
{
    const size_t count = (size_t)w->checkpoint->tensor_count;
    const char **each = cse_calloc(count + 1, sizeof *each);
    for (size_t i = 0; i < count; i++)
        each[i] = w->places[i].digest;
    cse_checkpoint_join_digests(w->checkpoint, each, digest);
    free(each);
}

int cse_elements_write(const cse_checkpoint *checkpoint, int descriptor, cse_element_place places[],
                       char digest[CSE_DIGEST_DIGITS + 1])
{
    writing w = { .checkpoint = checkpoint, .descriptor = descriptor, .places = places };
    cse_parallel_for(checkpoint->tensor_count, write_one, &w);
    if (digest != NULL)
        join(&w, digest);
    return atomic_load(&w.error);
}

bool cse_elements_read(int descriptor, uint64_t offset, uint64_t bytes, unsigned char *data,
                       crypto_generichash_state *hash)
{
    unsigned char *block = data != NULL ? NULL : cse_malloc(BLOCK_BYTES);
    bool whole = true;
    for (uint64_t done = 0; done < bytes && whole; done += BLOCK_BYTES) {
        const size_t size = block_at(done, bytes);
        unsigned char *to = data != NULL ? data + done : block;
        whole = cse_read_at(descriptor, to, size, offset + done) == (int64_t)size;
        if (whole)
            crypto_generichash_update(hash, to, size);
    }
    free(block);
    return whole;
}

bool cse_elements_equal(int descriptor, uint64_t offset, const cse_checkpoint_tensor *tensor)
{
    const uint64_t bytes = cse_checkpoint_tensor_bytes(tensor);
    unsigned char *block = cse_malloc(BLOCK_BYTES);
    bool equal = true;
    cse_tensor_pass(tensor, 0);
    for (uint64_t done = 0; done < bytes && equal; done += BLOCK_BYTES) {
        const size_t size = block_at(done, bytes);
        equal = cse_read_at(descriptor, block, size, offset + done) == (int64_t)size &&
                memcmp(block, (const unsigned char *)tensor->data + done, size) == 0;
        cse_tensor_pass(tensor, done + size);
    }
    free(block);
    return equal;
}

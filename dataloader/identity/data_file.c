/* A large file is read in part; its size and time then belong to what is hashed. */
#include "dataloader/identity/data_file.h"

#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/arena.h"

enum { BLOCK_BYTES = 1 << 20, HASH_BYTES = 32 };

static int64_t ns_of(struct timespec time)
{
    return (int64_t)time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

cse_status cse_data_file_examine(int descriptor, const char *path, cse_data_file *file)
{
    struct stat facts;
    if (fstat(descriptor, &facts) != 0)
        return cse_fail(CSE_IO, "%s: cannot be examined: %s", path, strerror(errno));
    *file = (cse_data_file){ .bytes = facts.st_size,
                             .modified_ns = ns_of(facts.st_mtim),
                             .changed_ns = ns_of(facts.st_ctim),
                             .device = facts.st_dev,
                             .inode = facts.st_ino };
    return CSE_OK;
}

bool cse_data_file_same_facts(const cse_data_file *a, const cse_data_file *b)
{
    return a->bytes == b->bytes && a->modified_ns == b->modified_ns &&
           a->changed_ns == b->changed_ns && a->device == b->device && a->inode == b->inode;
}

/* Adds up to `bytes` bytes from `offset` on to the hash; fewer only at the end of the file. */
static bool add_range(crypto_generichash_state *hash, int descriptor, int64_t offset, int64_t bytes,
                      unsigned char *block)
{
    for (int64_t done = 0; done < bytes;) {
        size_t wanted = bytes - done < BLOCK_BYTES ? (size_t)(bytes - done) : BLOCK_BYTES;
        ssize_t got = pread(descriptor, block, wanted, (off_t)(offset + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got == 0;
        crypto_generichash_update(hash, block, (size_t)got);
        done += got;
    }
    return true;
}

static bool add_samples(crypto_generichash_state *hash, int descriptor, const cse_data_file *file,
                        unsigned char *block)
{
    const int64_t numbers[] = { file->bytes, file->modified_ns };
    bool good = true;
    crypto_generichash_update(hash, (const unsigned char *)numbers, sizeof numbers);
    for (int i = 0; i < CSE_DATA_SAMPLES && good; i++)
        good = add_range(hash, descriptor,
                         (file->bytes - CSE_DATA_SAMPLE_BYTES) / (CSE_DATA_SAMPLES - 1) * i,
                         CSE_DATA_SAMPLE_BYTES, block);
    return good && add_range(hash, descriptor, file->bytes - CSE_DATA_SAMPLE_BYTES,
                             CSE_DATA_SAMPLE_BYTES, block);
}

cse_status cse_data_file_digest(int descriptor, const char *path, cse_data_file *file)
{
    unsigned char bytes[HASH_BYTES];
    char digits[2 * HASH_BYTES + 1];
    crypto_generichash_state hash;
    bool whole = file->bytes <= CSE_DATA_WHOLE_BYTES;
    if (sodium_init() < 0)
        return cse_fail(CSE_INTERNAL, "libsodium cannot be initialized");
    unsigned char *block = cse_malloc(BLOCK_BYTES);
    crypto_generichash_init(&hash, NULL, 0, sizeof bytes);
    bool good = whole ? add_range(&hash, descriptor, 0, file->bytes, block)
                      : add_samples(&hash, descriptor, file, block);
    free(block);
    if (!good)
        return cse_fail(CSE_IO, "%s: reading failed: %s", path, strerror(errno));
    crypto_generichash_final(&hash, bytes, sizeof bytes);
    sodium_bin2hex(digits, sizeof digits, bytes, sizeof bytes);
    snprintf(file->digest, sizeof file->digest, "%s:%s", whole ? "blake2b" : "sampled", digits);
    return CSE_OK;
}

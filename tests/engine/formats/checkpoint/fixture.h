/* A small checkpoint with every type, and files to put it in; shared by the checkpoint tests. */
#ifndef CSE_TESTS_CHECKPOINT_FIXTURE_H
#define CSE_TESTS_CHECKPOINT_FIXTURE_H

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/formats/checkpoint/checkpoint.h"

/* A new directory; remove_directory takes it away. */
static inline char *make_directory(char path[PATH_MAX])
{
    const char *base = getenv("TMPDIR");
    snprintf(path, PATH_MAX, "%s/csengine-checkpoint-XXXXXX", base != NULL ? base : "/tmp");
    return mkdtemp(path);
}

static inline int files_in(const char *directory)
{
    int count = 0;
    DIR *entries = opendir(directory);
    for (struct dirent *entry; entries != NULL && (entry = readdir(entries)) != NULL;)
        count += entry->d_name[0] != '.';
    if (entries != NULL)
        closedir(entries);
    return count;
}

static inline void remove_directory(const char *directory)
{
    char path[PATH_MAX + 300];
    DIR *entries = opendir(directory);
    for (struct dirent *entry; entries != NULL && (entry = readdir(entries)) != NULL;) {
        snprintf(path, sizeof path, "%s/%s", directory, entry->d_name);
        if (entry->d_name[0] != '.')
            unlink(path);
    }
    if (entries != NULL)
        closedir(entries);
    rmdir(directory);
}

/* The bytes of a file; release with free(). */
static inline unsigned char *read_bytes(const char *path, size_t *size)
{
    struct stat status = { 0 };
    int descriptor = open(path, O_RDONLY);
    if (descriptor < 0 || fstat(descriptor, &status) != 0)
        abort();
    unsigned char *bytes = malloc((size_t)status.st_size + 1);
    *size = (size_t)status.st_size;
    if (bytes == NULL || read(descriptor, bytes, *size) != (ssize_t)*size)
        abort();
    close(descriptor);
    return bytes;
}

static inline void write_bytes(const char *path, const unsigned char *bytes, size_t size)
{
    int descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (descriptor < 0 || write(descriptor, bytes, size) != (ssize_t)size)
        abort();
    close(descriptor);
}

static const uint32_t fixture_floats[6] = { 0x3f800000, 0x80000000, 0x7f800000,
                                            0x7fc12345, 0x00000001, 0xff7fffff };
static const uint16_t fixture_halves[3] = { 0x3f80, 0x7fc1, 0x8001 };
static const int32_t fixture_integers[4] = { 0, -1, INT32_MAX, INT32_MIN };
static const uint8_t fixture_flags[2] = { 1, 0 };
static const float fixture_scalar = 0.125f;

static inline cse_checkpoint fixture_checkpoint(void)
{
    static cse_checkpoint_tensor tensors[] = {
        { "model.fc_layers.0.weight", CSE_FLOAT32, { 2, { 2, 3 } }, fixture_floats, false },
        { "model.fc_layers.0.bias", CSE_BFLOAT16, { 1, { 3 } }, fixture_halves, false },
        { "model.half", CSE_FLOAT16, { 2, { 3, 1 } }, fixture_halves, false },
        { "model.compact", CSE_CBFLOAT16, { 1, { 3 } }, fixture_halves, false },
        { "counts with a space", CSE_INT32, { 2, { 2, 2 } }, fixture_integers, false },
        { "flags", CSE_BOOL, { 1, { 2 } }, fixture_flags, false },
        { "optimizer.scale", CSE_FLOAT32, { 0, { 0 } }, &fixture_scalar, false },
        { "empty", CSE_FLOAT32, { 2, { 0, 5 } }, NULL, false },
    };
    return (cse_checkpoint){
        .tensors = tensors,
        .tensor_count = sizeof tensors / sizeof tensors[0],
        .global_step = 1234567890123,
        .seed = UINT64_MAX,
        .samples_seen = 42,
        .model_name = "fc_mnist",
        .config = "trainer:\n  seed: 1 # \xc3\xa9\n",
    };
}

/* Whether everything that `expected` holds is in `actual`, bit for bit, and nothing else. */
static inline bool checkpoints_equal(const cse_checkpoint *expected, const cse_checkpoint *actual)
{
    bool equal = expected->tensor_count == actual->tensor_count &&
                 expected->global_step == actual->global_step && expected->seed == actual->seed &&
                 expected->samples_seen == actual->samples_seen &&
                 strcmp(expected->model_name, actual->model_name) == 0 &&
                 strcmp(expected->config, actual->config) == 0;
    for (int i = 0; equal && i < expected->tensor_count; i++) {
        const cse_checkpoint_tensor *a = &expected->tensors[i];
        const cse_checkpoint_tensor *b = cse_checkpoint_find(actual, a->name);
        size_t bytes = (size_t)cse_shape_elements(a->shape) * cse_dtype_size(a->dtype);
        equal = b != NULL && a->dtype == b->dtype && cse_shape_equal(a->shape, b->shape) &&
                (bytes == 0 || memcmp(a->data, b->data, bytes) == 0);
    }
    return equal;
}

#endif

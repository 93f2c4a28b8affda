/* Finding, loading and freeing checkpoints; save.c writes them. */
#include "engine/formats/checkpoint/checkpoint.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/arena.h"
#include "engine/base/confinement.h"
#include "engine/base/file_status.h"
#include "engine/base/log.h"
#include "engine/base/types/shape.h"
#include "engine/formats/checkpoint/file_bytes.h"
#include "engine/formats/checkpoint/format.h"

cse_checkpoint_owned *cse_checkpoint_owned_new(void)
{
    cse_checkpoint_owned *owned = cse_calloc(1, sizeof *owned);
    owned->arena = cse_arena_new();
    return owned;
}

void cse_checkpoint_destroy(cse_checkpoint **checkpoint)
{
    if (checkpoint == NULL || *checkpoint == NULL)
        return;
    cse_checkpoint_owned *owned = (cse_checkpoint_owned *)*checkpoint;
    free(owned->checkpoint.tensors);
    cse_arena_destroy(&owned->arena);
    if (owned->mapped != NULL)
        munmap(owned->mapped, owned->mapped_bytes);
    free(owned);
    *checkpoint = NULL;
}

const cse_checkpoint_tensor *cse_checkpoint_find(const cse_checkpoint *checkpoint, const char *name)
{
    for (int i = 0; i < checkpoint->tensor_count; i++)
        if (strcmp(checkpoint->tensors[i].name, name) == 0)
            return &checkpoint->tensors[i];
    return NULL;
}

const cse_checkpoint_tensor *cse_checkpoint_average(const cse_checkpoint *checkpoint,
                                                    const char *parameter, cse_shape shape)
{
    static const char model[] = "model.", prefix[] = CSE_AVERAGE_PREFIX;
    if (strncmp(parameter, model, sizeof model - 1) != 0)
        return NULL;
    for (int i = 0; i < checkpoint->tensor_count; i++) {
        const cse_checkpoint_tensor *tensor = &checkpoint->tensors[i];
        if (strncmp(tensor->name, prefix, sizeof prefix - 1) == 0 &&
            strcmp(tensor->name + sizeof prefix - 1, parameter + sizeof model - 1) == 0)
            return cse_shape_equal(tensor->shape, shape) ? tensor : NULL;
    }
    return NULL;
}

void cse_checkpoint_path(const char *directory, int64_t step, char *path, size_t size)
{
    snprintf(path, size, "%s/checkpoint_%" PRId64 ".mdl", directory, step);
}

static cse_status open_failed(const char *path)
{
    int error = errno;
    if (error == EXDEV && cse_confinement_view() != NULL)
        return cse_confinement_refuse(CSE_PATH_INPUT, path);
    return cse_fail(cse_status_of_reading(error), "%s: cannot be opened: %s", path,
                    strerror(error));
}

/* Opens a regular file and finds its format. The caller closes the descriptor. */
static cse_status open_checkpoint(const char *path, int *descriptor,
                                  const cse_checkpoint_format **format)
{
    char start[64];
    struct stat status;
    /* O_NONBLOCK: opening a pipe by mistake must not wait for a writer. */
    *descriptor = cse_confined_open(CSE_PATH_INPUT, path, O_RDONLY | O_NONBLOCK, 0);
    if (*descriptor < 0)
        return open_failed(path);
    if (fstat(*descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
        close(*descriptor);
        return cse_fail(CSE_DATA, "%s: not a regular file, so not a checkpoint", path);
    }
    int64_t got = cse_read_at(*descriptor, start, sizeof start, 0);
    for (const cse_checkpoint_format *const *row = cse_checkpoint_formats; *row != NULL; row++) {
        *format = *row;
        if (got >= (int64_t)(*row)->signature_bytes &&
            memcmp(start, (*row)->signature, (*row)->signature_bytes) == 0)
            return CSE_OK;
    }
    close(*descriptor);
    if (got < 0)
        return cse_fail(CSE_IO, "%s: cannot be read: %s", path, strerror(errno));
    return cse_fail(CSE_DATA, "%s: not a checkpoint: unknown signature%s", path,
                    got == 0 ? " (the file is empty)" : "");
}

static cse_status read_file(const char *path, bool maps, cse_checkpoint **checkpoint)
{
    const cse_checkpoint_format *format;
    int descriptor;
    *checkpoint = NULL;
    CSE_TRY(open_checkpoint(path, &descriptor, &format));
    cse_status status = maps ? format->map(descriptor, path, checkpoint)
                             : format->read(descriptor, path, checkpoint);
    close(descriptor);
    return status;
}

cse_status cse_checkpoint_load(const char *path, cse_checkpoint **checkpoint)
{
    return read_file(path, false, checkpoint);
}

cse_status cse_checkpoint_map(const char *path, cse_checkpoint **checkpoint)
{
    return read_file(path, true, checkpoint);
}

cse_status cse_checkpoint_open(const char *path, int *descriptor)
{
    const cse_checkpoint_format *format;
    return open_checkpoint(path, descriptor, &format);
}

cse_status cse_checkpoint_verify(const char *path)
{
    const cse_checkpoint_format *format;
    int descriptor;
    CSE_TRY(open_checkpoint(path, &descriptor, &format));
    cse_status status = format->verify(descriptor, path);
    close(descriptor);
    return status;
}

/* The step of "checkpoint_{step}.mdl", or -1 for any other name. */
static int64_t step_of_name(const char *name)
{
    int64_t step = -1;
    char expected[64];
    if (sscanf(name, "checkpoint_%" SCNd64, &step) != 1 || step < 0)
        return -1;
    snprintf(expected, sizeof expected, "checkpoint_%" PRId64 ".mdl", step);
    return strcmp(name, expected) == 0 ? step : -1;
}

static int compare_steps_down(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return (a < b) - (a > b);
}

cse_status cse_checkpoint_steps(const char *directory, int64_t **steps, int *count)
{
    int capacity = 0;
    *steps = NULL;
    *count = 0;
    DIR *entries = opendir(directory);
    if (entries == NULL)
        return open_failed(directory);
    for (struct dirent *entry; (entry = readdir(entries)) != NULL;) {
        int64_t step = step_of_name(entry->d_name);
        if (step < 0)
            continue;
        CSE_GROW(*steps, *count, capacity);
        (*steps)[(*count)++] = step;
    }
    closedir(entries);
    if (*count > 1)
        qsort(*steps, (size_t)*count, sizeof **steps, compare_steps_down);
    return CSE_OK;
}

cse_status cse_checkpoint_latest(const char *directory, char *path, size_t size)
{
    int64_t *steps;
    int count;
    CSE_TRY(cse_checkpoint_steps(directory, &steps, &count));
    cse_status status = CSE_DATA;
    for (int i = 0; i < count && status != CSE_OK; i++) {
        cse_checkpoint_path(directory, steps[i], path, size);
        status = cse_checkpoint_verify(path);
        if (status != CSE_OK)
            cse_log_line(CSE_LOG_WARNING, "checkpoint skipped: %s", cse_error_message());
    }
    free(steps);
    if (status != CSE_OK)
        return cse_fail(CSE_NO_INPUT, "%s: holds no whole checkpoint (checkpoint_STEP.mdl)",
                        directory);
    return CSE_OK;
}

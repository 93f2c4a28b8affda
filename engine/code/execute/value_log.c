/* A run is a head and its values, little endian, written by one or several writes. */
#include "engine/code/execute/value_log.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/types/dtype.h"
#include "engine/base/types/narrow.h"

enum { WIDENED = 4096 };

static const char mark[8] = "CSEVALS1";

typedef struct run_head {
    char mark[8];
    int64_t step, microbatch, tensor, first, count;
} run_head;

struct cse_value_log {
    int descriptor, error; /* error: an errno, 0: none */
    char *path;
    int64_t *microbatches; /* [microbatch_count]; NULL: all */
    int microbatch_count, microbatch_capacity;
};

cse_status cse_value_log_create(const char *path, cse_value_log **log)
{
    const int descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666);
    *log = NULL;
    if (descriptor < 0)
        return cse_fail(CSE_CANNOT_CREATE, "%s: %s", path, strerror(errno));
    *log = cse_calloc(1, sizeof **log);
    **log = (cse_value_log){ .descriptor = descriptor, .path = cse_strdup(path) };
    return CSE_OK;
}

void cse_value_log_limit(cse_value_log *log, const char *microbatches)
{
    for (const char *at = microbatches; at != NULL && *at != '\0';) {
        char *end = NULL;
        CSE_GROW(log->microbatches, log->microbatch_count, log->microbatch_capacity);
        log->microbatches[log->microbatch_count++] = strtoll(at, &end, 10);
        at = *end == ',' ? end + 1 : NULL;
    }
}

static bool takes(const cse_value_log *log, const cse_value_run *run)
{
    bool found = log->microbatches == NULL || run->microbatch == CSE_VALUES_OF_STEP;
    for (int i = 0; !found && i < log->microbatch_count; i++)
        found = log->microbatches[i] == run->microbatch;
    return found;
}

static void put(cse_value_log *log, const void *bytes, size_t size)
{
    const char *at = bytes;
    while (size > 0 && log->error == 0) {
        const ssize_t written = write(log->descriptor, at, size);
        if (written < 0 && errno == EINTR)
            continue;
        log->error = written < 0 ? errno : 0;
        at += written < 0 ? 0 : written;
        size -= written < 0 ? 0 : (size_t)written;
    }
}

static void put_head(cse_value_log *log, const cse_value_run *run)
{
    run_head head = { .step = run->step,
                      .microbatch = run->microbatch,
                      .tensor = run->tensor,
                      .first = run->first,
                      .count = run->count };
    memcpy(head.mark, mark, sizeof mark);
    put(log, &head, sizeof head);
}

void cse_value_log_add(cse_value_log *log, const cse_value_run *run)
{
    if (!takes(log, run))
        return;
    put_head(log, run);
    put(log, run->values, (size_t)run->count * sizeof(float));
}

static float widened(cse_dtype dtype, uint16_t bits)
{
    return dtype == CSE_BFLOAT16  ? cse_load_bfloat16(bits)
           : dtype == CSE_FLOAT16 ? cse_load_float16(bits)
                                  : cse_load_cbfloat16(bits);
}

void cse_value_log_add_of(cse_value_log *log, const cse_value_run *run, cse_dtype dtype,
                          const void *values)
{
    float wide[WIDENED];
    cse_value_run whole = *run;
    whole.values = values;
    if (dtype == CSE_FLOAT32) {
        cse_value_log_add(log, &whole);
        return;
    }
    if (!takes(log, run))
        return;
    const uint16_t *narrow = values;
    put_head(log, run);
    for (int64_t at = 0; at < run->count; at += WIDENED) {
        const int64_t count = run->count - at < WIDENED ? run->count - at : WIDENED;
        for (int64_t i = 0; i < count; i++)
            wide[i] = widened(dtype, narrow[at + i]);
        put(log, wide, (size_t)count * sizeof *wide);
    }
}

cse_status cse_value_log_status(const cse_value_log *log)
{
    return log->error == 0 ? CSE_OK : cse_fail(CSE_IO, "%s: %s", log->path, strerror(log->error));
}

void cse_value_log_close(cse_value_log **log)
{
    if (*log == NULL)
        return;
    close((*log)->descriptor);
    free((*log)->path);
    free((*log)->microbatches);
    free(*log);
    *log = NULL;
}

/* ---- reading ---- */

static cse_status read_runs(FILE *file, int64_t size, const char *path, cse_value_visit *visit,
                            void *self)
{
    run_head head;
    float *values = NULL;
    int64_t at = 0;
    cse_status status = CSE_OK;
    while (status == CSE_OK && fread(&head, sizeof head, 1, file) == 1) {
        at += (int64_t)sizeof head;
        if (memcmp(head.mark, mark, sizeof mark) != 0 || head.count < 0 || head.first < 0) {
            status = cse_fail(CSE_DATA, "%s is no log of values, or is damaged", path);
            break;
        }
        if (head.count > (size - at) / (int64_t)sizeof *values)
            break;
        values = cse_realloc(values, ((size_t)head.count + 1) * sizeof *values);
        if (fread(values, sizeof *values, (size_t)head.count, file) != (size_t)head.count)
            break;
        at += head.count * (int64_t)sizeof *values;
        status = visit(self, &(cse_value_run){ .step = head.step,
                                               .microbatch = head.microbatch,
                                               .tensor = head.tensor,
                                               .first = head.first,
                                               .count = head.count,
                                               .values = values });
    }
    free(values);
    return status;
}

cse_status cse_value_log_read(const char *path, cse_value_visit *visit, void *self)
{
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return cse_fail(CSE_NO_INPUT, "%s: %s", path, strerror(errno));
    fseeko(file, 0, SEEK_END);
    const int64_t size = (int64_t)ftello(file);
    rewind(file);
    cse_status status = read_runs(file, size, path, visit, self);
    fclose(file);
    return status;
}

cse_status cse_value_logs_read(const char *model_dir, cse_value_visit *visit, void *self)
{
    char path[PATH_MAX + 300];
    cse_status status = CSE_OK;
    snprintf(path, sizeof path, "%s/values", model_dir);
    DIR *folder = opendir(path);
    if (folder == NULL)
        return cse_fail(CSE_NO_INPUT, "%s: %s", path, strerror(errno));
    for (struct dirent *entry; status == CSE_OK && (entry = readdir(folder)) != NULL;) {
        if (strncmp(entry->d_name, "after-", 6) != 0)
            continue;
        snprintf(path, sizeof path, "%s/values/%s", model_dir, entry->d_name);
        status = cse_value_log_read(path, visit, self);
    }
    closedir(folder);
    return status;
}

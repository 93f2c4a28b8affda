/* Writes go through a stream. Where a run goes on, the file is cut at its first step; of that step
 * the lines of other names stay until this start logs them, too (a validation after the step). */
#include "run/loggers/log_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/arena.h"
#include "engine/base/confinement.h"
#include "engine/base/file_status.h"

enum { END_BYTES = 1 << 16 };

cse_status cse_log_file_failure(const cse_log_file *log)
{
    return cse_fail(CSE_IO, "%s cannot be written: %s", log->path, strerror(errno));
}

cse_status cse_log_file_flush(void *self)
{
    const cse_log_file *log = self;
    return fflush(log->file) == 0 ? CSE_OK : cse_log_file_failure(log);
}

void cse_log_file_close(void *self)
{
    cse_log_file *log = self;
    if (log->file != NULL)
        fclose(log->file);
    cse_text_clear(&log->replaced);
    free(log);
}

/* ---- lines of an earlier start ---- */

/* The step of a line; -1: it is none of a logger's. */
static int64_t step_of(const char *line, const char *end)
{
    char number[24];
    while (line < end && (*line < '0' || *line > '9'))
        line++;
    const size_t length = end - line < 20 ? (size_t)(end - line) : 20;
    snprintf(number, sizeof number, "%.*s", (int)length, line);
    return length > 0 ? strtoll(number, NULL, 10) : -1;
}

/* The name in a line of `size` bytes, with the commas around it. */
static size_t name_of(const char *line, size_t size, const char **name)
{
    const char *first = memchr(line, ',', size), *last = memrchr(line, ',', size);
    *name = first != NULL ? memchr(first + 1, ',', (size_t)(line + size - first - 1)) : NULL;
    return *name != NULL ? (size_t)(last - *name) : 0;
}

/* Removes the line of this name from those of the step; true when there was one. */
static bool forget_line(cse_text *lines, const char *line, size_t size)
{
    const char *name, *other;
    const size_t length = name_of(line, size, &name);
    for (char *at = lines->data, *end = lines->data + lines->size; at < end;) {
        char *next = (char *)memchr(at, '\n', (size_t)(end - at)) + 1;
        if (length > 0 && name_of(at, (size_t)(next - at), &other) == length &&
            memcmp(name, other, length) == 0) {
            memmove(at, next, (size_t)(end - next));
            lines->size -= (size_t)(next - at);
            return true;
        }
        at = next;
    }
    return false;
}

/* The end of the file, from the last line on whose step is below `step` or above that of the line
 * behind it (of another run): what is to be written again. */
static size_t find_end(const cse_text *text, int64_t step)
{
    const char *begin = text->data, *end = begin + text->size;
    int64_t behind = INT64_MAX;
    while (end > begin) {
        const char *line = memrchr(begin, '\n', (size_t)(end - begin - 1));
        line = line != NULL ? line + 1 : begin;
        const int64_t of_line = step_of(line, end);
        if (of_line < step || of_line > behind)
            break;
        behind = of_line;
        end = line;
    }
    return (size_t)(end - begin);
}

/* The last bytes of the file, from the beginning of a line on; what a killed process left of a line
 * is not one of them. `*at`: where they begin. */
static bool read_end(const cse_log_file *log, long most, cse_text *text, long *at)
{
    struct stat about;
    const int file = cse_confined_open(CSE_PATH_OUTPUT, log->path, O_RDONLY, 0);
    bool is_read = file >= 0 && fstat(file, &about) == 0 && S_ISREG(about.st_mode);
    if (is_read) {
        *at = about.st_size > most ? about.st_size - most : 0;
        const size_t size = (size_t)(about.st_size - *at);
        cse_text_reserve(text, size + 1);
        is_read = pread(file, text->data, size, *at) == (ssize_t)size;
        text->size = is_read ? size : 0;
    }
    if (file >= 0)
        close(file);
    const char *first = is_read && *at > 0 ? memchr(text->data, '\n', text->size) : NULL;
    if (first != NULL) {
        const size_t cut = (size_t)(first + 1 - text->data);
        memmove(text->data, first + 1, text->size - cut);
        text->size -= cut;
        *at += (long)cut;
    }
    const char *last = is_read && text->size > 0 ? memrchr(text->data, '\n', text->size) : NULL;
    text->size = last != NULL ? (size_t)(last + 1 - text->data) : 0;
    return is_read;
}

/* Cuts the file at its first line of `step` or a later one, and keeps the lines of the step. */
static cse_status cut(cse_log_file *log, int64_t step)
{
    cse_text text = { 0 };
    size_t end = 0;
    long at = 0;
    bool is_read = true;
    for (long most = END_BYTES; is_read && (end == 0 && (most == END_BYTES || at > 0)); most *= 8) {
        is_read = read_end(log, most, &text, &at);
        end = is_read ? find_end(&text, step) : 0;
    }
    log->replaced_step = step;
    log->replaced_at = at + (long)end;
    for (const char *line = text.data + end; is_read && line < text.data + text.size;) {
        const char *next = (const char *)memchr(line, '\n', text.size) + 1;
        if (step_of(line, next) == step)
            cse_text_add_bytes(&log->replaced, line, (size_t)(next - line));
        line = next;
    }
    cse_text_clear(&text);
    if (!is_read)
        log->goes_on = false; /* a pipe, or a terminal */
    return CSE_OK;
}

/* Writes the step's lines again. */
static cse_status write_step(const cse_log_file *log)
{
    if (fflush(log->file) != 0 || ftruncate(fileno(log->file), log->replaced_at) != 0)
        return cse_log_file_failure(log);
    if (log->replaced.size > 0 && fwrite(log->replaced.data, log->replaced.size, 1, log->file) != 1)
        return cse_log_file_failure(log);
    return CSE_OK;
}

cse_status cse_log_file_go_on(void *self, int64_t step)
{
    cse_log_file *log = self;
    (void)step;
    log->goes_on = true;
    log->replaced_step = -1;
    return CSE_OK;
}

cse_status cse_log_file_write(void *self, int64_t step, const char *line, size_t size)
{
    cse_log_file *log = self;
    const bool is_first = log->goes_on && log->replaced_step < 0;
    if (is_first)
        CSE_TRY(cut(log, step));
    if (log->goes_on && step != log->replaced_step)
        log->goes_on = false;
    if (log->goes_on) {
        const bool forgot = forget_line(&log->replaced, line, size);
        if (forgot || is_first)
            CSE_TRY(write_step(log));
        cse_text_add_bytes(&log->replaced, line, size);
    }
    return fwrite(line, size, 1, log->file) == 1 ? CSE_OK : cse_log_file_failure(log);
}

/* ---- opening ---- */

cse_status cse_log_file_open(const cse_settings *settings, const char *model_dir, const char *name,
                             cse_log_file **result)
{
    const char *given = cse_settings_text(settings, "path");
    cse_log_file *log = cse_calloc(1, sizeof *log);
    snprintf(log->path, sizeof log->path, "%s%s%s", given != NULL ? given : model_dir,
             given != NULL ? "" : "/", given != NULL ? "" : name);
    log->file = cse_confined_stream(log->path, O_APPEND);
    if (log->file != NULL) {
        *result = log;
        return CSE_OK;
    }
    cse_status status = errno == EXDEV
                            ? cse_confinement_refuse(CSE_PATH_OUTPUT, log->path)
                            : cse_fail(cse_status_of_writing(errno), "%s cannot be opened: %s",
                                       log->path, strerror(errno));
    free(log);
    return status;
}

/* Lines are appended whole, under a lock of the file; a note that is removed has a line that says
 * so. */
#include "store/notes.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "engine/base/text.h"

enum { MOST_BYTES = 16 << 20 };

static cse_status fail(const char *path)
{
    return cse_fail(errno == ENOENT || errno == ENOTDIR ? CSE_NO_INPUT
                    : errno == EACCES || errno == EROFS ? CSE_PERMISSION
                    : errno == ELOOP                    ? CSE_DATA
                                                        : CSE_IO,
                    "%s: %s", path, errno == ELOOP ? "it is a symbolic link" : strerror(errno));
}

/* A link or a pipe in the file's place is not opened. */
static cse_status open_file(const char *model_dir, int flags, char path[PATH_MAX], int *file)
{
    struct stat about;
    snprintf(path, PATH_MAX, "%s/notes.jsonl", model_dir);
    *file = open(path, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666);
    if (*file < 0)
        return fail(path);
    if (fstat(*file, &about) == 0 && S_ISREG(about.st_mode) && about.st_size <= MOST_BYTES)
        return CSE_OK;
    close(*file);
    return cse_fail(CSE_DATA, "%s: it is no file of notes", path);
}

static cse_status read_bytes(int file, const char *path, cse_text *text)
{
    char buffer[16384];
    ssize_t size;
    while ((size = pread(file, buffer, sizeof buffer, (off_t)text->size)) > 0)
        cse_text_add_bytes(text, buffer, (size_t)size);
    return size == 0 ? CSE_OK : fail(path);
}

/* ---- lines ---- */

static int64_t id_of(const json_t *note)
{
    return json_integer_value(json_object_get(note, "id"));
}

static bool remove_from(json_t *notes, int64_t id)
{
    size_t i;
    json_t *note;
    json_array_foreach(notes, i, note) if (id_of(note) == id)
    {
        json_array_remove(notes, i);
        return true;
    }
    return false;
}

static bool is_note(const json_t *line)
{
    const json_t *step = json_object_get(line, "step"), *author = json_object_get(line, "author");
    return id_of(line) > 0 && json_is_integer(json_object_get(line, "time_ms")) &&
           json_is_string(json_object_get(line, "text")) &&
           (json_is_null(step) || json_integer_value(step) >= 0) &&
           (json_is_null(author) || json_is_string(author));
}

/* *last: the highest number that was ever given. */
static json_t *parse(const cse_text *text, int64_t *last)
{
    json_t *notes = json_array();
    const char *at = text->data, *end = at != NULL ? at + text->size : at, *stop;
    for (; at < end && (stop = memchr(at, '\n', (size_t)(end - at))) != NULL; at = stop + 1) {
        json_t *line = json_loadb(at, (size_t)(stop - at), 0, NULL);
        if (is_note(line)) {
            json_array_append(notes, line);
            *last = id_of(line) > *last ? id_of(line) : *last;
        } else {
            remove_from(notes, json_integer_value(json_object_get(line, "removed")));
        }
        json_decref(line);
    }
    return notes;
}

cse_status cse_notes_read(const char *model_dir, json_t **notes)
{
    char path[PATH_MAX];
    cse_text text = { 0 };
    int file = -1;
    int64_t last = 0;
    *notes = NULL;
    cse_status status = open_file(model_dir, O_RDONLY, path, &file);
    if (status == CSE_NO_INPUT) {
        *notes = json_array();
        return CSE_OK;
    }
    if (status == CSE_OK) {
        status = read_bytes(file, path, &text);
        close(file);
    }
    if (status == CSE_OK)
        *notes = parse(&text, &last);
    cse_text_clear(&text);
    return status;
}

/* ---- changes ---- */

/* The whole line in one call, so that a full disk leaves no half of it before the next. */
static cse_status append(int file, const char *path, const cse_text *before, json_t *line)
{
    cse_text bytes = { 0 };
    char *text = json_dumps(line, JSON_COMPACT);
    const bool is_cut = before->size > 0 && before->data[before->size - 1] != '\n';
    cse_text_add(&bytes, "%s%s\n", is_cut ? "\n" : "", text != NULL ? text : "");
    const ssize_t written = text != NULL ? write(file, bytes.data, bytes.size) : -1;
    cse_status status = CSE_OK;
    if (written < 0)
        status = fail(path);
    else if ((size_t)written < bytes.size)
        status = cse_fail(CSE_TEMPORARY, "%s: no room on the disk", path);
    free(text);
    cse_text_clear(&bytes);
    return status;
}

/* Another program may hold the lock for as long as it lives: it is not waited for. */
static cse_status lock(int file, const char *path)
{
    enum { ATTEMPTS = 100 };
    int attempt = 0;
    while (flock(file, LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK && errno != EINTR)
            return fail(path);
        if (++attempt == ATTEMPTS)
            return cse_fail(CSE_TEMPORARY, "%s: another process has locked it; try again", path);
        cse_sleep_ns(10000000);
    }
    return CSE_OK;
}

typedef cse_status change(void *self, json_t *notes, int64_t last, json_t **line);

/* Reads the notes under the lock, and appends what `make` makes of them. */
static cse_status change_file(const char *model_dir, int flags, change *make, void *self)
{
    char path[PATH_MAX];
    cse_text text = { 0 };
    json_t *notes = NULL, *line = NULL;
    int64_t last = 0;
    int file = -1;
    CSE_TRY(open_file(model_dir, O_RDWR | O_APPEND | flags, path, &file));
    cse_status status = lock(file, path);
    status = status == CSE_OK ? read_bytes(file, path, &text) : status;
    if (status == CSE_OK) {
        notes = parse(&text, &last);
        status = make(self, notes, last, &line);
    }
    if (status == CSE_OK)
        status = append(file, path, &text, line);
    json_decref(line);
    json_decref(notes);
    cse_text_clear(&text);
    close(file);
    return status;
}

static cse_status check_text(const char *text)
{
    const size_t size = strlen(text);
    if (size == 0 || strspn(text, " \t\n") == size)
        return cse_fail(CSE_USAGE, "a note needs a text");
    if (size > CSE_NOTE_BYTES)
        return cse_fail(CSE_USAGE, "the note has %zu bytes; accepted are %d at most", size,
                        CSE_NOTE_BYTES);
    for (size_t at = 0, length; at < size; at += length) {
        length = cse_utf8_length(text + at, size - at);
        const unsigned char first = (unsigned char)text[at];
        if (length == 0)
            return cse_fail(CSE_USAGE, "the note is no UTF-8 from byte %zu on", at);
        if ((first < ' ' && first != '\n' && first != '\t') || first == 127)
            return cse_fail(CSE_USAGE,
                            "the note has a control character (byte %zu, value %d); accepted are "
                            "text, line ends and tabs",
                            at, first);
    }
    return CSE_OK;
}

typedef struct addition {
    int64_t step;
    const char *text, *author;
    json_t *added;
} addition;

static cse_status make_note(void *self, json_t *notes, int64_t last, json_t **line)
{
    addition *a = self;
    if (json_array_size(notes) >= CSE_MOST_NOTES)
        return cse_fail(CSE_UNAVAILABLE,
                        "the run has %d notes, as many as there can be: remove some",
                        CSE_MOST_NOTES);
    *line = json_pack("{s:I, s:I, s:o, s:s, s:s?}", "id", (json_int_t)(last + 1), "time_ms",
                      (json_int_t)cse_unix_ms(), "step",
                      a->step >= 0 ? json_integer(a->step) : json_null(), "text", a->text, "author",
                      a->author);
    a->added = json_incref(*line);
    return CSE_OK;
}

cse_status cse_notes_add(const char *model_dir, int64_t step, const char *text, const char *author,
                         json_t **added)
{
    addition a = { step, text, author, NULL };
    CSE_TRY(check_text(text));
    const cse_status status = change_file(model_dir, O_CREAT, make_note, &a);
    if (status != CSE_OK) {
        json_decref(a.added);
        a.added = NULL;
    }
    *added = a.added;
    return status;
}

static cse_status make_removal(void *self, json_t *notes, int64_t last, json_t **line)
{
    const int64_t id = *(const int64_t *)self;
    (void)last;
    if (!remove_from(notes, id))
        return cse_fail(CSE_NO_INPUT, "the run has no note %lld", (long long)id);
    *line =
        json_pack("{s:I, s:I}", "removed", (json_int_t)id, "time_ms", (json_int_t)cse_unix_ms());
    return CSE_OK;
}

cse_status cse_notes_remove(const char *model_dir, int64_t id)
{
    return change_file(model_dir, 0, make_removal, &id);
}

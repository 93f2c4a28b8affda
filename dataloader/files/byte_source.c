/* A descriptor that was checked to be a regular file, read as it is or through a decoder. */
#include "csengine/input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dataloader/files/file_list.h"
#include "dataloader/files/packed_input.h"
#include "dataloader/identity/data_watch.h"
#include "engine/base/arena.h"
#include "engine/base/confinement.h"
#include "engine/base/file_status.h"

enum { FIRST_PIECE_BYTES = 1024 * 1024 };

struct cse_byte_source {
    char *path;
    cse_packed_input input; /* has the descriptor of a plain file, too */
    cse_gzip_decoder *gzip; /* at most one of both */
    cse_zstd_decoder *zstd;
};

bool cse_byte_source_exists(const char *path)
{
    int descriptor = cse_confined_open(CSE_PATH_INPUT, path, O_PATH, 0);
    return descriptor >= 0 && close(descriptor) == 0;
}

static cse_status open_failure(const char *path, int error)
{
    if (error == EXDEV)
        return cse_confinement_refuse(CSE_PATH_INPUT, path);
    return cse_fail(cse_status_of_reading(error), "%s: cannot open the file: %s", path,
                    strerror(error));
}

cse_status cse_input_open_file(const char *path, int *descriptor)
{
    struct stat info;
    /* Non-blocking: opening a named pipe must not hang the run. */
    int opened = cse_confined_open(CSE_PATH_INPUT, path, O_RDONLY | O_NONBLOCK | O_CLOEXEC, 0);
    if (opened < 0)
        return open_failure(path, errno);
    cse_status status = CSE_OK;
    if (fstat(opened, &info) != 0 || !S_ISREG(info.st_mode))
        status =
            cse_fail(CSE_NO_INPUT, "%s: not a regular file: give the path of a data file", path);
    if (status == CSE_OK)
        status = cse_data_note_open(opened, path);
    if (status != CSE_OK)
        close(opened);
    else
        *descriptor = opened;
    return status;
}

/* ---- forms ---- */

typedef enum form { PLAIN, GZIP, ZSTD, FORMS } form;

static const struct {
    const char *name, *endings;
    unsigned char magic[4];
    int magic_bytes;
} forms[FORMS] = {
    [PLAIN] = { "plain", "" },
    [GZIP] = { "gzip", ".gz|.tgz", { 0x1f, 0x8b }, 2 },
    [ZSTD] = { "zstd", ".zst|.zstd", { 0x28, 0xb5, 0x2f, 0xfd }, 4 },
};

/* By the content. A name that promises a compressed form holds: a file whose first bytes are
 * damaged would be read as it is otherwise. */
static cse_status find_form(int descriptor, const char *path, form *found)
{
    unsigned char begin[4];
    const ssize_t count = pread(descriptor, begin, sizeof begin, 0);
    *found = PLAIN;
    for (int f = GZIP; f < FORMS; f++)
        if (count >= forms[f].magic_bytes &&
            memcmp(begin, forms[f].magic, (size_t)forms[f].magic_bytes) == 0)
            *found = (form)f;
    for (int f = GZIP; f < FORMS && *found == PLAIN; f++)
        if (count > 0 && cse_name_ends(path, forms[f].endings))
            return cse_fail(CSE_DATA,
                            "%s: offset 0: its content does not begin as %s does: the file is "
                            "damaged, or was unpacked and has the wrong name",
                            path, forms[f].name);
    return CSE_OK;
}

cse_status cse_byte_source_open(const char *path, cse_byte_source **source)
{
    int descriptor;
    form found;
    CSE_TRY(cse_input_open_file(path, &descriptor));
    cse_status status = find_form(descriptor, path, &found);
    if (status != CSE_OK) {
        close(descriptor);
        return status;
    }
    cse_byte_source *opened = *source = cse_calloc(1, sizeof *opened);
    opened->path = cse_strdup(path);
    cse_packed_input_make(&opened->input, descriptor, opened->path);
    if (found == GZIP)
        opened->gzip = cse_gzip_decoder_new();
    else if (found == ZSTD)
        opened->zstd = cse_zstd_decoder_new();
    return CSE_OK;
}

void cse_byte_source_close(cse_byte_source **source)
{
    if (*source == NULL)
        return;
    cse_packed_input_clear(&(*source)->input);
    cse_gzip_decoder_destroy(&(*source)->gzip);
    cse_zstd_decoder_destroy(&(*source)->zstd);
    free((*source)->path);
    free(*source);
    *source = NULL;
}

static cse_status read_plain(cse_byte_source *source, unsigned char *bytes, size_t size,
                             size_t *got)
{
    for (*got = 0; *got < size;) {
        const ssize_t count = read(source->input.descriptor, bytes + *got, size - *got);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return cse_fail(CSE_IO, "%s: reading failed: %s", source->path, strerror(errno));
        if (count == 0)
            break;
        *got += (size_t)count;
    }
    return CSE_OK;
}

cse_status cse_byte_source_read(cse_byte_source *source, void *bytes, size_t size, size_t *got)
{
    if (source->gzip != NULL)
        return cse_gzip_decoder_read(source->gzip, &source->input, bytes, size, got);
    if (source->zstd != NULL)
        return cse_zstd_decoder_read(source->zstd, &source->input, bytes, size, got);
    return read_plain(source, bytes, size, got);
}

cse_status cse_byte_source_take(cse_byte_source *source, size_t size, unsigned char **bytes,
                                size_t *got)
{
    size_t capacity = 0;
    *bytes = NULL;
    *got = 0;
    while (*got < size) {
        size_t wanted = capacity == 0 ? FIRST_PIECE_BYTES : capacity * 2, piece;
        capacity = wanted < size && wanted > capacity ? wanted : size;
        unsigned char *grown = realloc(*bytes, capacity);
        cse_status status = CSE_OK;
        if (grown == NULL)
            status = cse_fail(CSE_TEMPORARY, "%s: no memory for %zu bytes of its content",
                              source->path, capacity);
        else
            status = cse_byte_source_read(source, (*bytes = grown) + *got, capacity - *got, &piece);
        if (status != CSE_OK) {
            free(*bytes);
            *bytes = NULL;
            return status;
        }
        *got += piece;
        if (*got < capacity)
            break;
    }
    return CSE_OK;
}

/* zlib's gz functions, or zstd's stream, over a descriptor that was checked to be a regular
 * file. */
#include "csengine/input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "dataloader/data_watch.h"
#include "engine/base/arena.h"
#include "engine/base/confinement.h"

enum { BUFFER_BYTES = 256 * 1024, FIRST_PIECE_BYTES = 1024 * 1024 };

struct cse_byte_source {
    gzFile stream; /* plain and gzip; NULL: zstd */
    char *path;
    /* zstd */
    int descriptor;
    ZSTD_DStream *decoder;
    ZSTD_inBuffer input; /* of BUFFER_BYTES */
    bool within_frame;
};

bool cse_byte_source_exists(const char *path)
{
    int descriptor = cse_confined_open(CSE_PATH_INPUT, path, O_PATH, 0);
    return descriptor >= 0 && close(descriptor) == 0;
}

static cse_status open_failure(const char *path, int error)
{
    cse_status status = CSE_IO;
    if (error == EXDEV)
        return cse_confinement_refuse(CSE_PATH_INPUT, path);
    if (error == ENOENT || error == ENOTDIR)
        status = CSE_NO_INPUT;
    else if (error == EACCES || error == EPERM)
        status = CSE_PERMISSION;
    return cse_fail(status, "%s: cannot open the file: %s", path, strerror(error));
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

static bool is_zstd(int descriptor)
{
    static const unsigned char magic[] = { 0x28, 0xb5, 0x2f, 0xfd };
    unsigned char begin[sizeof magic];
    return pread(descriptor, begin, sizeof begin, 0) == (ssize_t)sizeof begin &&
           memcmp(begin, magic, sizeof magic) == 0;
}

static cse_byte_source *zstd_source(int descriptor, const char *path)
{
    cse_byte_source *source = cse_calloc(1, sizeof *source);
    source->descriptor = descriptor;
    source->path = cse_strdup(path);
    source->decoder = ZSTD_createDStream();
    source->input.src = cse_malloc(BUFFER_BYTES);
    return source;
}

cse_status cse_byte_source_open(const char *path, cse_byte_source **source)
{
    int descriptor;
    CSE_TRY(cse_input_open_file(path, &descriptor));
    if (is_zstd(descriptor)) {
        *source = zstd_source(descriptor, path);
        return CSE_OK;
    }
    gzFile stream = gzdopen(descriptor, "rb");
    if (stream == NULL) {
        close(descriptor);
        return cse_fail(CSE_IO, "%s: cannot start to read: out of memory", path);
    }
    gzbuffer(stream, BUFFER_BYTES);
    *source = cse_calloc(1, sizeof **source);
    (*source)->stream = stream;
    (*source)->path = cse_strdup(path);
    return CSE_OK;
}

void cse_byte_source_close(cse_byte_source **source)
{
    if (*source == NULL)
        return;
    if ((*source)->stream != NULL) {
        gzclose_r((*source)->stream);
    } else {
        close((*source)->descriptor);
        ZSTD_freeDStream((*source)->decoder);
        free((void *)(uintptr_t)(*source)->input.src);
    }
    free((*source)->path);
    free(*source);
    *source = NULL;
}

static cse_status stream_status(const cse_byte_source *source)
{
    int code = Z_OK;
    const char *text = gzerror(source->stream, &code);
    switch (code) {
    case Z_OK:
    case Z_STREAM_END:
        return CSE_OK;
    case Z_ERRNO:
        return cse_fail(CSE_IO, "%s: reading failed: %s", source->path, strerror(errno));
    case Z_BUF_ERROR:
        return cse_fail(CSE_DATA,
                        "%s: the compressed stream ends too early: the file is truncated; "
                        "fetch it again",
                        source->path);
    default:
        return cse_fail(CSE_DATA, "%s: the compressed stream is damaged (%s): fetch the file again",
                        source->path, text);
    }
}

/* More compressed bytes; at the end of the file none are there. */
static cse_status refill(cse_byte_source *source)
{
    ssize_t count;
    do
        count = read(source->descriptor, (void *)(uintptr_t)source->input.src, BUFFER_BYTES);
    while (count < 0 && errno == EINTR);
    if (count < 0)
        return cse_fail(CSE_IO, "%s: reading failed: %s", source->path, strerror(errno));
    source->input.size = (size_t)count;
    source->input.pos = 0;
    return CSE_OK;
}

static cse_status read_zstd(cse_byte_source *source, void *bytes, size_t size, size_t *got)
{
    ZSTD_outBuffer output = { bytes, size, 0 };
    while (output.pos < size) {
        if (source->input.pos == source->input.size)
            CSE_TRY(refill(source));
        const bool at_end = source->input.size == 0;
        const size_t before = output.pos;
        if (at_end && !source->within_frame)
            break;
        const size_t left = ZSTD_decompressStream(source->decoder, &output, &source->input);
        if (ZSTD_isError(left))
            return cse_fail(CSE_DATA,
                            "%s: the compressed stream is damaged (%s): fetch the file again",
                            source->path, ZSTD_getErrorName(left));
        source->within_frame = left != 0;
        if (at_end && left != 0 && output.pos == before)
            return cse_fail(CSE_DATA,
                            "%s: the compressed stream ends too early: the file is truncated; "
                            "fetch it again",
                            source->path);
    }
    *got = output.pos;
    return CSE_OK;
}

cse_status cse_byte_source_read(cse_byte_source *source, void *bytes, size_t size, size_t *got)
{
    unsigned char *end = bytes;
    *got = 0;
    if (source->stream == NULL)
        return read_zstd(source, bytes, size, got);
    while (*got < size) {
        size_t left = size - *got;
        unsigned piece = left < FIRST_PIECE_BYTES ? (unsigned)left : FIRST_PIECE_BYTES;
        int count = gzread(source->stream, end + *got, piece);
        if (count <= 0)
            break;
        *got += (size_t)count;
    }
    return *got < size ? stream_status(source) : CSE_OK;
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

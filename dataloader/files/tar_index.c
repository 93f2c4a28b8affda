/* Sizes and sums of headers are checked before they are believed. */
#include "dataloader/files/tar_index.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "csengine/input.h"
#include "engine/base/arena.h"

enum {
    BLOCK = 512,
    PAX_MOST_BYTES = 1 << 16,
    NAME_AT = 0,
    NAME_BYTES = 100,
    SIZE_AT = 124,
    SUM_AT = 148,
    TYPE_AT = 156,
    MAGIC_AT = 257,
    PREFIX_AT = 345,
    PREFIX_BYTES = 155,
    NUMBER_BYTES = 12
};

#define INDEX_MOST_BYTES ((size_t)1 << 31)

typedef struct scanning {
    cse_file_pool *pool;
    int file;
    int64_t offset; /* of the header */
    unsigned char header[BLOCK];
    char name[CSE_TAR_NAME_BYTES]; /* of the next member, by a header before it; "": none */
    int64_t bytes;                 /* likewise; -1: none */
} scanning;

static cse_status refuse(const scanning *s, const char *what)
{
    return cse_fail(CSE_DATA, "%s: offset %" PRId64 ": %s",
                    cse_file_pool_path_view(s->pool, s->file), s->offset, what);
}

/* Octal digits, or, after a first bit, bytes. -1 for anything else. */
static int64_t number_of(const unsigned char *field, int size)
{
    int64_t value = 0;
    int i = 0;
    if (field[0] == 0x80) {
        for (i = 1; i < size; i++) {
            if (value >> 48 != 0)
                return -1;
            value = value << 8 | field[i];
        }
        return value;
    }
    while (i < size && field[i] == ' ')
        i++;
    for (; i < size && field[i] >= '0' && field[i] <= '7'; i++)
        value = value << 3 | (field[i] - '0');
    return i == size || field[i] == '\0' || field[i] == ' ' ? value : -1;
}

static bool sum_is_right(const unsigned char *header)
{
    int64_t sum = 0;
    for (int i = 0; i < BLOCK; i++)
        sum += i >= SUM_AT && i < SUM_AT + 8 ? ' ' : header[i];
    return number_of(header + SUM_AT, 8) == sum;
}

static void join_name(const unsigned char *header, char *name)
{
    char prefix[PREFIX_BYTES + 1] = "", last[NAME_BYTES + 1];
    if (memcmp(header + MAGIC_AT, "ustar\0", 6) == 0)
        snprintf(prefix, sizeof prefix, "%.*s", PREFIX_BYTES, (const char *)header + PREFIX_AT);
    snprintf(last, sizeof last, "%.*s", NAME_BYTES, (const char *)header + NAME_AT);
    snprintf(name, CSE_TAR_NAME_BYTES, "%s%s%s", prefix, *prefix != '\0' ? "/" : "", last);
}

/* Records "LENGTH key=value\n". */
static cse_status take_pax(scanning *s, const char *text, size_t size)
{
    for (size_t at = 0; at < size;) {
        char *end;
        const unsigned long long length = strtoull(text + at, &end, 10);
        const size_t digits = (size_t)(end - (text + at));
        if (length < digits + 3 || length > size - at || *end != ' ' ||
            text[at + length - 1] != '\n')
            return refuse(s, "a pax header is damaged");
        const char *key = end + 1;
        const size_t left = (size_t)length - digits - 2; /* of key=value */
        if (left > 5 && memcmp(key, "path=", 5) == 0)
            snprintf(s->name, sizeof s->name, "%.*s", (int)(left - 5), key + 5);
        if (left > 5 && memcmp(key, "size=", 5) == 0) {
            s->bytes = 0;
            for (size_t i = 5; i < left && key[i] >= '0' && key[i] <= '9'; i++)
                if (__builtin_mul_overflow(s->bytes, 10, &s->bytes) ||
                    __builtin_add_overflow(s->bytes, key[i] - '0', &s->bytes))
                    return refuse(s, "a pax header has a size beyond all files");
        }
        at += (size_t)length;
    }
    return CSE_OK;
}

/* A header about the next member: its name or a list of facts. */
static cse_status take_note(scanning *s, char type, int64_t bytes)
{
    if (bytes > PAX_MOST_BYTES)
        return refuse(s, "a header about a member has more than 65536 bytes");
    char *text = cse_calloc(1, (size_t)bytes + 1);
    cse_status status =
        cse_file_pool_read(s->pool, s->file, s->offset + BLOCK, text, (size_t)bytes);
    if (status == CSE_OK && type == 'L')
        snprintf(s->name, sizeof s->name, "%s", text);
    else if (status == CSE_OK && type == 'x')
        status = take_pax(s, text, (size_t)bytes);
    free(text);
    return status;
}

static cse_status take_header(scanning *s, int64_t all, int64_t *next, cse_tar_member *member)
{
    const char type = (char)s->header[TYPE_AT];
    const bool is_file = type == '0' || type == '\0' || type == '7';
    int64_t bytes = number_of(s->header + SIZE_AT, NUMBER_BYTES);
    member->name = NULL;
    if (!sum_is_right(s->header))
        return refuse(s, "no header of a tar archive stands here");
    if (type == 'S')
        return refuse(s, "a sparse file, which is not accepted");
    if (is_file && s->bytes >= 0)
        bytes = s->bytes;
    if (bytes < 0 || bytes > all - s->offset - BLOCK)
        return refuse(s, "a member is longer than the archive: the archive is not whole");
    *next = s->offset + BLOCK + (bytes + BLOCK - 1) / BLOCK * BLOCK;
    if (type == 'L' || type == 'x')
        return take_note(s, type, bytes);
    if (is_file) {
        if (*s->name == '\0')
            join_name(s->header, s->name);
        *member = (cse_tar_member){ .offset = s->offset + BLOCK, .bytes = bytes, .name = s->name };
    }
    return CSE_OK;
}

static bool is_zero(const unsigned char *block)
{
    for (int i = 0; i < BLOCK; i++)
        if (block[i] != 0)
            return false;
    return true;
}

cse_status cse_tar_scan(cse_file_pool *pool, int file, cse_tar_visit *visit, void *self)
{
    const int64_t all = cse_file_pool_bytes(pool, file);
    scanning *s = cse_calloc(1, sizeof *s);
    cse_status status = CSE_OK;
    *s = (scanning){ .pool = pool, .file = file, .bytes = -1 };
    while (status == CSE_OK && all - s->offset >= BLOCK) {
        cse_tar_member member;
        int64_t next = 0;
        status = cse_file_pool_read(pool, file, s->offset, s->header, BLOCK);
        if (status == CSE_OK && is_zero(s->header))
            break;
        if (status == CSE_OK)
            status = take_header(s, all, &next, &member);
        if (status == CSE_OK && member.name != NULL)
            status = visit(self, &member);
        const char type = (char)s->header[TYPE_AT];
        if (type != 'x' && type != 'L' && type != 'g') {
            s->name[0] = '\0';
            s->bytes = -1;
        }
        s->offset = next;
    }
    if (status == CSE_OK && s->offset == 0)
        status = refuse(s, "it is no tar archive, or an empty one; compressed ones are not "
                           "accepted, since nothing in them can be found by its place");
    free(s);
    return status;
}

/* "OFFSET BYTES NAME" */
static cse_status take_line(const char *path, int64_t all, char *line, cse_tar_member *member)
{
    int used = 0;
    if (sscanf(line, "%" SCNd64 " %" SCNd64 " %n", &member->offset, &member->bytes, &used) != 2 ||
        used == 0 || line[used] == '\0' || member->offset < BLOCK || member->bytes < 0 ||
        member->bytes > all || member->offset > all - member->bytes)
        return cse_fail(CSE_DATA,
                        "%s.idx: \"%.80s\" is no member of the archive: make the index anew with "
                        "csengine data index",
                        path, line);
    member->name = line + used;
    return CSE_OK;
}

cse_status cse_tar_scan_index(cse_file_pool *pool, int file, const cse_text *index,
                              cse_tar_visit *visit, void *self)
{
    const int64_t all = cse_file_pool_bytes(pool, file);
    char *line = index->data;
    for (char *end; line != NULL && *line != '\0'; line = end + 1) {
        cse_tar_member member;
        end = strchr(line, '\n');
        if (end == NULL)
            return cse_fail(CSE_DATA, "%s.idx: its last line has no end: the index is not whole",
                            cse_file_pool_path_view(pool, file));
        *end = '\0';
        CSE_TRY(take_line(cse_file_pool_path_view(pool, file), all, line, &member));
        CSE_TRY(visit(self, &member));
    }
    return CSE_OK;
}

cse_status cse_tar_visit_all(cse_file_pool *pool, int file, cse_tar_visit *visit, void *self)
{
    char path[CSE_TAR_NAME_BYTES + 8];
    unsigned char *bytes = NULL;
    cse_text index = { 0 };
    cse_byte_source *source;
    snprintf(path, sizeof path, "%s.idx", cse_file_pool_path_view(pool, file));
    if (!cse_byte_source_exists(path))
        return cse_tar_scan(pool, file, visit, self);
    CSE_TRY(cse_byte_source_open(path, &source));
    cse_status status = cse_byte_source_take(source, INDEX_MOST_BYTES, &bytes, &index.size);
    cse_byte_source_close(&source);
    if (status == CSE_OK && bytes != NULL) {
        index.data = cse_realloc(bytes, index.size + 1);
        index.data[index.size] = '\0';
        bytes = (unsigned char *)index.data;
        status = cse_tar_scan_index(pool, file, &index, visit, self);
    }
    free(bytes);
    return status;
}

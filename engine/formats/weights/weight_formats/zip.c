/* The directory at the end says what is there; each entry's own header says where its content
 * begins. */
#include "engine/formats/weights/weight_formats/zip.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "engine/formats/checkpoint/file_bytes.h"

enum {
    END_BYTES = 22,      /* of the end of the directory, without a comment */
    LOCATOR_BYTES = 20,  /* of what leads to the end with 64 bits */
    LONG_END_BYTES = 56, /* of that end */
    ENTRY_BYTES = 46,    /* of an entry of the directory, without names */
    LOCAL_BYTES = 30,    /* of an entry's own header */
    LONG_EXTRA_BYTES = 28,
    COMMENT_BYTES = 65535,
    ALIGNMENT = 64,
    DEFLATED = 8, /* the method of an entry */
    PIECE_BYTES = 1 << 30,
    MOST_ENTRIES = 1 << 20,
    MOST_DIRECTORY_BYTES = 1 << 27
};

#define END_MARK 0x06054b50u
#define LONG_END_MARK 0x06064b50u
#define LOCATOR_MARK 0x07064b50u
#define ENTRY_MARK 0x02014b50u
#define LOCAL_MARK 0x04034b50u

static uint64_t number(const unsigned char *at, int bytes)
{
    uint64_t value = 0;
    for (int i = bytes - 1; i >= 0; i--)
        value = value << 8 | at[i];
    return value;
}

/* ---- reading ---- */

typedef struct reading {
    cse_weights *weights;
    const cse_weights_file *at;
    cse_zip *zip;
    uint64_t directory, directory_bytes, count;
    int capacity;
    bool takes_deflated;
} reading;

static cse_status refuse(const reading *r, const char *what)
{
    return cse_fail(CSE_DATA, "%s: %s; the file was cut off or is damaged", r->at->path, what);
}

static bool read_at(const reading *r, uint64_t offset, void *to, size_t bytes)
{
    return offset <= r->at->bytes && bytes <= r->at->bytes - offset &&
           cse_read_at(r->at->descriptor, to, bytes, offset) == (int64_t)bytes;
}

/* The end with 64 bits, which the locator before the end leads to. */
static cse_status read_long_end(reading *r, uint64_t end)
{
    unsigned char locator[LOCATOR_BYTES], record[LONG_END_BYTES];
    if (end < LOCATOR_BYTES || !read_at(r, end - LOCATOR_BYTES, locator, sizeof locator) ||
        number(locator, 4) != LOCATOR_MARK)
        return CSE_OK;
    if (!read_at(r, number(locator + 8, 8), record, sizeof record) ||
        number(record, 4) != LONG_END_MARK)
        return refuse(r, "the end of the archive's directory is missing");
    r->count = number(record + 32, 8);
    r->directory_bytes = number(record + 40, 8);
    r->directory = number(record + 48, 8);
    return CSE_OK;
}

/* Finds the end of the directory, before which a comment may stand. */
static cse_status find_directory(reading *r)
{
    const size_t most = END_BYTES + COMMENT_BYTES;
    const size_t size = r->at->bytes < most ? (size_t)r->at->bytes : most;
    unsigned char *tail = cse_malloc(size + 1);
    int64_t found = -1;
    if (read_at(r, r->at->bytes - size, tail, size))
        for (int64_t i = (int64_t)size - END_BYTES; i >= 0 && found < 0; i--)
            if (number(tail + i, 4) == END_MARK &&
                number(tail + i + 20, 2) == size - (uint64_t)i - END_BYTES)
                found = i;
    if (found >= 0) {
        r->count = number(tail + found + 10, 2);
        r->directory_bytes = number(tail + found + 12, 4);
        r->directory = number(tail + found + 16, 4);
    }
    free(tail);
    if (found < 0)
        return refuse(r, "the archive has no directory");
    CSE_TRY(read_long_end(r, r->at->bytes - size + (uint64_t)found));
    if (r->directory > r->at->bytes || r->directory_bytes > r->at->bytes - r->directory)
        return refuse(r, "the archive's directory lies beyond the end of the file");
    if (r->count > MOST_ENTRIES || r->directory_bytes > MOST_DIRECTORY_BYTES)
        return refuse(r, "the archive has too many entries");
    return CSE_OK;
}

/* The numbers of 64 bits stand in an extra field, each where the short one is all ones. */
static bool read_long_numbers(const unsigned char *extra, size_t size, uint64_t *const values[3])
{
    for (size_t at = 0; at + 4 <= size;) {
        const size_t id = number(extra + at, 2), length = number(extra + at + 2, 2);
        const unsigned char *field = extra + at + 4;
        size_t used = 0;
        if (length > size - at - 4)
            return false;
        for (int i = 0; i < 3 && id == 1; i++)
            if (*values[i] == UINT32_MAX) {
                if (used + 8 > length)
                    return false;
                *values[i] = number(field + used, 8);
                used += 8;
            }
        at += 4 + length;
    }
    return true;
}

static cse_status add_entry(reading *r, const char *name, cse_zip_entry entry)
{
    unsigned char local[LOCAL_BYTES];
    if (!read_at(r, entry.offset, local, sizeof local) || number(local, 4) != LOCAL_MARK)
        return refuse(r, "an entry of the archive has no header");
    entry.offset += LOCAL_BYTES + number(local + 26, 2) + number(local + 28, 2);
    if (entry.offset > r->at->bytes || entry.packed > r->at->bytes - entry.offset)
        return refuse(r, "an entry of the archive lies beyond the end of the file");
    if (cse_name_index_find(&r->zip->names, name) >= 0)
        return refuse(r, "two entries of the archive have one name");
    CSE_GROW(r->zip->entries, r->zip->count, r->capacity);
    entry.name = name;
    entry.span = cse_arena_alloc(r->weights->arena, sizeof *entry.span);
    *entry.span = (cse_weights_span){ .offset = entry.offset,
                                      .bytes = entry.bytes,
                                      .checksum = entry.checksum };
    r->zip->entries[r->zip->count] = entry;
    cse_name_index_add(&r->zip->names, name, r->zip->count++);
    return CSE_OK;
}

/* *used: bytes of the entry in the directory. */
static cse_status read_entry(reading *r, const unsigned char *at, size_t left, size_t *used)
{
    if (left < ENTRY_BYTES || number(at, 4) != ENTRY_MARK)
        return refuse(r, "the archive's directory is malformed");
    const size_t name_bytes = number(at + 28, 2), extra_bytes = number(at + 30, 2);
    *used = ENTRY_BYTES + name_bytes + extra_bytes + number(at + 32, 2);
    cse_zip_entry entry = { .offset = number(at + 42, 4),
                            .bytes = number(at + 24, 4),
                            .packed = number(at + 20, 4),
                            .checksum = (uint32_t)number(at + 16, 4),
                            .deflated = number(at + 10, 2) == DEFLATED };
    uint64_t *const values[] = { &entry.bytes, &entry.packed, &entry.offset };
    if (*used > left || !read_long_numbers(at + ENTRY_BYTES + name_bytes, extra_bytes, values))
        return refuse(r, "the archive's directory is malformed");
    char *name = cse_arena_printf(r->weights->arena, "%.*s", (int)name_bytes,
                                  (const char *)at + ENTRY_BYTES);
    if (strlen(name) != name_bytes || name_bytes == 0)
        return refuse(r, "a name in the archive is empty or has a zero byte");
    if (number(at + 8, 2) & 1)
        return cse_fail(CSE_DATA, "%s: the entry '%s' is encrypted", r->at->path, name);
    const bool is_stored = number(at + 10, 2) == 0 && entry.packed == entry.bytes;
    if (!is_stored && !(entry.deflated && r->takes_deflated))
        return cse_fail(CSE_DATA, "%s: the entry '%s' is compressed; accepted: entries that are %s",
                        r->at->path, name,
                        r->takes_deflated ? "stored or deflated"
                                          : "stored, as torch.save and numpy.savez write them");
    return add_entry(r, name, entry);
}

static cse_status open_archive(reading *r)
{
    *r->zip = (cse_zip){ .count = 0 };
    CSE_TRY(find_directory(r));
    unsigned char *directory = cse_malloc(r->directory_bytes + 1);
    cse_status status = read_at(r, r->directory, directory, r->directory_bytes)
                            ? CSE_OK
                            : refuse(r, "the archive's directory cannot be read");
    size_t at = 0, used = 0;
    for (uint64_t i = 0; i < r->count && status == CSE_OK; i++, at += used)
        status = read_entry(r, directory + at, r->directory_bytes - at, &used);
    free(directory);
    return status;
}

cse_status cse_zip_open(cse_weights *weights, int file, cse_zip *zip)
{
    reading r = { .weights = weights, .at = &weights->files[file], .zip = zip };
    return open_archive(&r);
}

cse_status cse_zip_open_packed(cse_weights *weights, int file, cse_zip *zip)
{
    reading r = {
        .weights = weights, .at = &weights->files[file], .zip = zip, .takes_deflated = true
    };
    return open_archive(&r);
}

void cse_zip_clear(cse_zip *zip)
{
    cse_name_index_clear(&zip->names);
    free(zip->entries);
}

const cse_zip_entry *cse_zip_find(const cse_zip *zip, const char *name)
{
    const int found = cse_name_index_find(&zip->names, name);
    return found >= 0 ? &zip->entries[found] : NULL;
}

/* Unpacks all of an entry, whose size must be what the directory says. */
static bool unpack(const unsigned char *packed, const cse_zip_entry *entry, char *bytes)
{
    z_stream stream = { .next_in = (Bytef *)(uintptr_t)packed, .next_out = (Bytef *)bytes };
    uint64_t in = entry->packed, out = entry->bytes;
    int code = Z_OK;
    if (inflateInit2(&stream, -MAX_WBITS) != Z_OK)
        return false;
    while (code == Z_OK) {
        stream.avail_in = in < PIECE_BYTES ? (uInt)in : PIECE_BYTES;
        stream.avail_out = out < PIECE_BYTES ? (uInt)out : PIECE_BYTES;
        in -= stream.avail_in;
        out -= stream.avail_out;
        code = inflate(&stream, Z_NO_FLUSH);
        in += stream.avail_in;
        out += stream.avail_out;
    }
    inflateEnd(&stream);
    return code == Z_STREAM_END && in == 0 && out == 0;
}

static bool read_content(const cse_weights_file *at, const cse_zip_entry *entry, char *bytes)
{
    if (!entry->deflated)
        return cse_read_at(at->descriptor, bytes, entry->bytes, entry->offset) ==
               (int64_t)entry->bytes;
    unsigned char *packed = cse_malloc(entry->packed + 1);
    const bool good = cse_read_at(at->descriptor, packed, entry->packed, entry->offset) ==
                          (int64_t)entry->packed &&
                      unpack(packed, entry, bytes);
    free(packed);
    return good;
}

cse_status cse_zip_read(const cse_weights *weights, int file, const cse_zip_entry *entry,
                        size_t most_bytes, char **content)
{
    const cse_weights_file *at = &weights->files[file];
    *content = NULL;
    if (entry->bytes > most_bytes)
        return cse_fail(CSE_DATA, "%s: the entry '%s' has %llu bytes; accepted: up to %zu",
                        at->path, entry->name, (unsigned long long)entry->bytes, most_bytes);
    char *bytes = cse_calloc(entry->bytes + 1, 1);
    if (read_content(at, entry, bytes) &&
        (uint32_t)crc32_z(0, (const Bytef *)bytes, entry->bytes) == entry->checksum) {
        *content = bytes;
        return CSE_OK;
    }
    free(bytes);
    return cse_fail(CSE_DATA, "%s: the entry '%s' is damaged: its checksum differs", at->path,
                    entry->name);
}

/* ---- writing ---- */

static void put(cse_text *text, uint64_t value, int bytes)
{
    char out[8];
    for (int i = 0; i < bytes; i++)
        out[i] = (char)(value >> (8 * i));
    cse_text_add_bytes(text, out, (size_t)bytes);
}

/* As PyTorch does it, an extra field "FB" fills up to the content. */
static uint64_t padding_of(const cse_zip_writer *writer, const char *name)
{
    const uint64_t end = writer->at + LOCAL_BYTES + strlen(name) + LONG_EXTRA_BYTES + 4;
    return (ALIGNMENT - end % ALIGNMENT) % ALIGNMENT;
}

uint64_t cse_zip_content(const cse_zip_writer *writer, const char *name)
{
    return writer->at + LOCAL_BYTES + strlen(name) + LONG_EXTRA_BYTES + 4 +
           padding_of(writer, name);
}

static uint64_t short_number(uint64_t value)
{
    return value < UINT32_MAX ? value : UINT32_MAX;
}

/* What both headers of an entry have: version, flags, method, time (1980-01-01), sizes. */
static void put_sizes(cse_text *text, uint64_t bytes, uint32_t checksum)
{
    put(text, 45, 2);
    put(text, 1 << 11, 2); /* the name is UTF-8 */
    put(text, 0, 2);
    put(text, 0, 2);
    put(text, 0x21, 2);
    put(text, checksum, 4);
    put(text, short_number(bytes), 4);
    put(text, short_number(bytes), 4);
}

/* Of LONG_EXTRA_BYTES; readers take the numbers whose short ones are all ones. */
static void put_long(cse_text *text, uint64_t bytes, uint64_t offset)
{
    const bool is_long = bytes >= UINT32_MAX, is_far = offset >= UINT32_MAX;
    const int used = (is_long ? 16 : 0) + (is_far ? 8 : 0);
    put(text, used > 0 ? 1 : 0x4346, 2);
    put(text, used > 0 ? (uint64_t)used : 24, 2);
    if (is_long) {
        put(text, bytes, 8);
        put(text, bytes, 8);
    }
    if (is_far)
        put(text, offset, 8);
    for (int left = 24 - used; left > 0 && used == 0; left -= 8)
        put(text, 0, 8);
    if (used > 0 && used < 24) { /* a field that fills the rest */
        put(text, 0x4346, 2);
        put(text, (uint64_t)(24 - used - 4), 2);
        for (int i = 0; i < 24 - used - 4; i++)
            put(text, 0, 1);
    }
}

cse_status cse_zip_add(cse_zip_writer *writer, const char *name, uint64_t bytes, uint32_t checksum)
{
    const uint64_t padding = padding_of(writer, name), content = cse_zip_content(writer, name);
    cse_text local = { 0 }, *directory = &writer->directory;
    put(&local, LOCAL_MARK, 4);
    put_sizes(&local, bytes, checksum);
    put(&local, strlen(name), 2);
    put(&local, LONG_EXTRA_BYTES + 4 + padding, 2);
    cse_text_add_bytes(&local, name, strlen(name));
    put_long(&local, bytes, 0);
    put(&local, 0x4246, 2); /* "FB" */
    put(&local, padding, 2);
    for (uint64_t i = 0; i < padding; i++)
        put(&local, 'Z', 1);
    cse_status status = cse_weights_put_bytes(writer->to, local.data, local.size, writer->at);
    cse_text_clear(&local);
    put(directory, ENTRY_MARK, 4);
    put(directory, 45, 2);
    put_sizes(directory, bytes, checksum);
    put(directory, strlen(name), 2);
    put(directory, LONG_EXTRA_BYTES, 2);
    put(directory, 0, 2);
    put(directory, 0, 2);
    put(directory, 0, 2);
    put(directory, 0, 4);
    put(directory, short_number(writer->at), 4);
    cse_text_add_bytes(directory, name, strlen(name));
    put_long(directory, bytes, writer->at);
    writer->at = content + bytes;
    writer->count++;
    return status;
}

cse_status cse_zip_add_bytes(cse_zip_writer *writer, const char *name, const void *content,
                             size_t bytes)
{
    const uint32_t checksum = (uint32_t)crc32(0, content, (uInt)bytes);
    CSE_TRY(cse_weights_put_bytes(writer->to, content, bytes, cse_zip_content(writer, name)));
    return cse_zip_add(writer, name, bytes, checksum);
}

cse_status cse_zip_add_weight(cse_zip_writer *writer, const char *name, cse_weights *from,
                              int index)
{
    uint32_t checksum = 0;
    CSE_TRY(cse_weights_put(from, index, writer->to, cse_zip_content(writer, name), &checksum));
    return cse_zip_add(writer, name, cse_weight_bytes(&from->list[index]), checksum);
}

cse_status cse_zip_finish(cse_zip_writer *writer)
{
    const uint64_t bytes = writer->directory.size, end = writer->at + bytes;
    cse_text *text = &writer->directory;
    put(text, LONG_END_MARK, 4);
    put(text, LONG_END_BYTES - 12, 8);
    put(text, 45, 2);
    put(text, 45, 2);
    put(text, 0, 8);
    put(text, writer->count, 8);
    put(text, writer->count, 8);
    put(text, bytes, 8);
    put(text, writer->at, 8);
    put(text, LOCATOR_MARK, 4);
    put(text, 0, 4);
    put(text, end, 8);
    put(text, 1, 4);
    put(text, END_MARK, 4);
    put(text, 0, 4);
    put(text, writer->count < UINT16_MAX ? writer->count : UINT16_MAX, 2);
    put(text, writer->count < UINT16_MAX ? writer->count : UINT16_MAX, 2);
    put(text, short_number(bytes), 4);
    put(text, short_number(writer->at), 4);
    put(text, 0, 2);
    return cse_weights_put_bytes(writer->to, text->data, text->size, writer->at);
}

void cse_zip_writer_clear(cse_zip_writer *writer)
{
    cse_text_clear(&writer->directory);
}

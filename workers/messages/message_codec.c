/* One loop to write and one to read. */
#include "workers/messages/message_codec.h"

#include <string.h>

/* All struct members are multiples of 8 bytes wide, so there is no padding between them. */
_Static_assert(sizeof(int64_t) == 8 && sizeof(const char *) == 8 && sizeof(cse_message_bytes) == 16,
               "fields of messages are 8 or 16 bytes wide in memory");

static size_t width_of(cse_field_type type)
{
    return type == CSE_FIELD_BYTES ? sizeof(cse_message_bytes) : 8;
}

const cse_message_row *cse_message_row_of(const cse_message_format *format, unsigned kind)
{
    for (int i = 0; i < format->row_count; i++)
        if (format->rows[i].number == kind)
            return &format->rows[i];
    return NULL;
}

static void put(unsigned char *at, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        at[i] = (unsigned char)(value >> (8 * i));
}

static uint64_t get(const unsigned char *at, int bytes)
{
    uint64_t value = 0;
    for (int i = 0; i < bytes; i++)
        value |= (uint64_t)at[i] << (8 * i);
    return value;
}

static void add_integer(cse_text *out, uint64_t value, int bytes)
{
    unsigned char raw[8];
    put(raw, value, bytes);
    cse_text_add_bytes(out, (const char *)raw, (size_t)bytes);
}

/* Bytes of a TEXT or BYTES field, and where they are. */
static cse_message_bytes content_of(cse_field_type type, const void *at)
{
    if (type == CSE_FIELD_BYTES)
        return *(const cse_message_bytes *)at;
    const char *text = *(const char *const *)at;
    return (cse_message_bytes){ (const unsigned char *)(text != NULL ? text : ""),
                                text != NULL ? strlen(text) : 0 };
}

static size_t body_bytes(const cse_message_row *row, const unsigned char *at)
{
    size_t bytes = 0;
    for (const cse_message_field *f = row->fields; f->name != NULL; at += width_of(f++->type))
        bytes += f->type == CSE_FIELD_INTEGER
                     ? 8
                     : 4 + content_of(f->type, at).size + (f->type == CSE_FIELD_TEXT);
    return bytes;
}

cse_status cse_message_write(const cse_message_format *format, unsigned kind, const void *fields,
                             cse_text *out)
{
    const cse_message_row *row = cse_message_row_of(format, kind);
    const unsigned char *at = fields;
    if (row == NULL)
        return cse_fail(CSE_INTERNAL, "%s: kind %u is not in the message table", format->what,
                        kind);
    const size_t body = body_bytes(row, at), most = format->most_bytes - CSE_MESSAGE_HEADER_BYTES;
    if (body > most)
        return cse_fail(CSE_INTERNAL, "%s %s: %zu bytes are more than the %zu accepted",
                        format->what, row->name, body, most);
    cse_text_add_bytes(out, format->mark, 4);
    add_integer(out, (uint64_t)format->version, 2);
    add_integer(out, row->number, 2);
    add_integer(out, body, 4);
    for (const cse_message_field *f = row->fields; f->name != NULL; at += width_of(f++->type)) {
        if (f->type == CSE_FIELD_INTEGER) {
            add_integer(out, (uint64_t) * (const int64_t *)at, 8);
            continue;
        }
        const cse_message_bytes content = content_of(f->type, at);
        add_integer(out, content.size, 4);
        if (content.size > 0)
            cse_text_add_bytes(out, (const char *)content.data, content.size);
        if (f->type == CSE_FIELD_TEXT)
            cse_text_add_bytes(out, "", 1);
    }
    return CSE_OK;
}

/* The part of a message that is still to be read. */
typedef struct reader {
    const char *what, *kind;
    const unsigned char *at;
    size_t left;
} reader;

static cse_status read_text(reader *in, const char *name, size_t size, const char **text)
{
    if (size >= in->left)
        return cse_fail(CSE_DATA, "%s %s: field %s is %zu bytes long, %zu are left", in->what,
                        in->kind, name, size, in->left);
    if (memchr(in->at, 0, size + 1) != in->at + size)
        return cse_fail(CSE_DATA, "%s %s: field %s is no zero-terminated text", in->what, in->kind,
                        name);
    *text = (const char *)in->at;
    in->at += size + 1;
    in->left -= size + 1;
    return CSE_OK;
}

static cse_status read_field(reader *in, const cse_message_field *field, void *value)
{
    const size_t fixed = field->type == CSE_FIELD_INTEGER ? 8 : 4;
    if (in->left < fixed)
        return cse_fail(CSE_DATA, "%s %s: ends within field %s", in->what, in->kind, field->name);
    const uint64_t number = get(in->at, (int)fixed);
    in->at += fixed;
    in->left -= fixed;
    if (field->type == CSE_FIELD_INTEGER) {
        *(int64_t *)value = (int64_t)number;
        return CSE_OK;
    }
    if (field->type == CSE_FIELD_TEXT)
        return read_text(in, field->name, number, value);
    if (number > in->left)
        return cse_fail(CSE_DATA, "%s %s: field %s is %llu bytes long, %zu are left", in->what,
                        in->kind, field->name, (unsigned long long)number, in->left);
    *(cse_message_bytes *)value = (cse_message_bytes){ in->at, number };
    in->at += number;
    in->left -= number;
    return CSE_OK;
}

cse_status cse_message_read_kind(const cse_message_format *format, const void *bytes, size_t size,
                                 const cse_message_row **row)
{
    const unsigned char *head = bytes;
    if (size < CSE_MESSAGE_HEADER_BYTES || size > format->most_bytes ||
        memcmp(head, format->mark, 4) != 0)
        return cse_fail(CSE_DATA, "%s: %zu bytes that do not begin as a message", format->what,
                        size);
    const unsigned version = (unsigned)get(head + 4, 2), kind = (unsigned)get(head + 6, 2);
    if (version != (unsigned)format->version)
        return cse_fail(CSE_UNAVAILABLE,
                        "%s: the peer speaks protocol version %u, this program %d: run the same "
                        "csengine everywhere in a cluster",
                        format->what, version, format->version);
    *row = cse_message_row_of(format, kind);
    if (*row == NULL)
        return cse_fail(CSE_DATA, "%s: kind %u is not in the message table", format->what, kind);
    if (get(head + 8, 4) != size - CSE_MESSAGE_HEADER_BYTES)
        return cse_fail(CSE_DATA, "%s %s: announces %llu bytes, %zu came", format->what,
                        (*row)->name, (unsigned long long)get(head + 8, 4),
                        size - CSE_MESSAGE_HEADER_BYTES);
    return CSE_OK;
}

cse_status cse_message_read_fields(const cse_message_format *format, const cse_message_row *row,
                                   const void *bytes, size_t size, void *fields)
{
    reader in = { format->what, row->name, (const unsigned char *)bytes + CSE_MESSAGE_HEADER_BYTES,
                  size - CSE_MESSAGE_HEADER_BYTES };
    unsigned char *at = fields;
    for (const cse_message_field *f = row->fields; f->name != NULL; at += width_of(f++->type))
        CSE_TRY(read_field(&in, f, at));
    if (in.left != 0)
        return cse_fail(CSE_DATA, "%s %s: %zu bytes follow its last field", in.what, in.kind,
                        in.left);
    return CSE_OK;
}

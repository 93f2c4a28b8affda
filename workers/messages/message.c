/* Messages by table: one row per kind and field, one loop to encode and one to decode.
 *
 * The rows carry the type of each field, so that encoding and decoding cannot disagree, and a new
 * message is a new row of the header's table and nothing else. */
#include "workers/messages/message.h"

#include <string.h>

typedef enum field_type { FIELD_INTEGER, FIELD_TEXT } field_type;

typedef struct field_row {
    field_type type;
    const char *name;
} field_row;

enum { MOST_FIELDS = 8 };

typedef struct message_row {
    unsigned number;
    const char *name;
    field_row fields[MOST_FIELDS]; /* ended by a NULL name */
} message_row;

/* All struct members are 8 bytes wide, so there is no padding: field f of any kind is at offset
 * 8 * f of the union. */
_Static_assert(sizeof(int64_t) == 8 && sizeof(const char *) == 8,
               "fields of messages are 8 bytes wide in memory");

#define FIELD_ROW(type_, name_) { FIELD_##type_, #name_ },
#define MESSAGE_ROW(number_, upper_, lower_, fields_) \
    { .number = (number_), .name = #upper_, .fields = { fields_ } },

static const message_row rows[] = { CSE_MESSAGE_TABLE(MESSAGE_ROW, FIELD_ROW) };

enum { ROW_COUNT = sizeof rows / sizeof rows[0], UNION_OFFSET = offsetof(cse_message, join) };

static const message_row *find_row(unsigned kind)
{
    for (int i = 0; i < ROW_COUNT; i++)
        if (rows[i].number == kind)
            return &rows[i];
    return NULL;
}

const char *cse_message_kind_name(cse_message_kind kind)
{
    const message_row *row = find_row((unsigned)kind);
    return row != NULL ? row->name : "unknown";
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

static const void *field_at(const cse_message *message, int field)
{
    return (const char *)message + UNION_OFFSET + 8 * field;
}

static size_t body_bytes(const message_row *row, const cse_message *message)
{
    size_t bytes = 0;
    for (int f = 0; f < MOST_FIELDS && row->fields[f].name != NULL; f++) {
        if (row->fields[f].type == FIELD_INTEGER) {
            bytes += 8;
            continue;
        }
        const char *text = *(const char *const *)field_at(message, f);
        bytes += 4 + (text != NULL ? strlen(text) : 0) + 1;
    }
    return bytes;
}

cse_status cse_message_encode(const cse_message *message, cse_text *out)
{
    const message_row *row = find_row((unsigned)message->kind);
    if (row == NULL)
        return cse_fail(CSE_INTERNAL, "control message: kind %u is not in the message table",
                        (unsigned)message->kind);
    size_t body = body_bytes(row, message);
    if (body > CSE_MESSAGE_MAX_BYTES - CSE_MESSAGE_HEADER_BYTES)
        return cse_fail(CSE_INTERNAL, "control message %s: %zu bytes are more than the %d accepted",
                        row->name, body, CSE_MESSAGE_MAX_BYTES - CSE_MESSAGE_HEADER_BYTES);
    cse_text_add_bytes(out, "CSEM", 4);
    add_integer(out, CSE_MESSAGE_VERSION, 2);
    add_integer(out, row->number, 2);
    add_integer(out, body, 4);
    for (int f = 0; f < MOST_FIELDS && row->fields[f].name != NULL; f++) {
        if (row->fields[f].type == FIELD_INTEGER) {
            add_integer(out, (uint64_t) * (const int64_t *)field_at(message, f), 8);
            continue;
        }
        const char *text = *(const char *const *)field_at(message, f);
        size_t length = text != NULL ? strlen(text) : 0;
        add_integer(out, length, 4);
        cse_text_add_bytes(out, text != NULL ? text : "", length + 1);
    }
    return CSE_OK;
}

/* The part of a message that is still to be decoded. */
typedef struct reader {
    const unsigned char *at;
    size_t left;
} reader;

static cse_status decode_field(const message_row *row, int field, reader *in, void *value)
{
    const char *name = row->fields[field].name;
    size_t fixed = row->fields[field].type == FIELD_INTEGER ? 8 : 4;
    if (in->left < fixed)
        return cse_fail(CSE_DATA, "control message %s: ends within field %s", row->name, name);
    uint64_t number = get(in->at, (int)fixed);
    in->at += fixed;
    in->left -= fixed;
    if (row->fields[field].type == FIELD_INTEGER) {
        *(int64_t *)value = (int64_t)number;
        return CSE_OK;
    }
    if (number >= in->left)
        return cse_fail(CSE_DATA, "control message %s: field %s is %llu bytes long, %zu are left",
                        row->name, name, (unsigned long long)number, in->left);
    if (memchr(in->at, 0, number + 1) != in->at + number)
        return cse_fail(CSE_DATA, "control message %s: field %s is no zero-terminated text",
                        row->name, name);
    *(const char **)value = (const char *)in->at;
    in->at += number + 1;
    in->left -= number + 1;
    return CSE_OK;
}

cse_status cse_message_decode(const void *bytes, size_t size, cse_message *message)
{
    const unsigned char *head = bytes;
    if (size < CSE_MESSAGE_HEADER_BYTES || size > CSE_MESSAGE_MAX_BYTES ||
        memcmp(head, "CSEM", 4) != 0)
        return cse_fail(CSE_DATA, "control message: %zu bytes that do not begin as a message",
                        size);
    unsigned version = (unsigned)get(head + 4, 2), kind = (unsigned)get(head + 6, 2);
    if (version != CSE_MESSAGE_VERSION)
        return cse_fail(CSE_UNAVAILABLE,
                        "control message: the peer speaks protocol version %u, this program %d: "
                        "run the same csengine everywhere in a cluster",
                        version, CSE_MESSAGE_VERSION);
    const message_row *row = find_row(kind);
    if (row == NULL)
        return cse_fail(CSE_DATA, "control message: kind %u is not in the message table", kind);
    reader in = { head + CSE_MESSAGE_HEADER_BYTES, size - CSE_MESSAGE_HEADER_BYTES };
    if (get(head + 8, 4) != in.left)
        return cse_fail(CSE_DATA, "control message %s: announces %llu bytes, %zu came", row->name,
                        (unsigned long long)get(head + 8, 4), in.left);
    memset(message, 0, sizeof *message);
    message->kind = (cse_message_kind)kind;
    for (int f = 0; f < MOST_FIELDS && row->fields[f].name != NULL; f++)
        CSE_TRY(decode_field(row, f, &in, (char *)message + UNION_OFFSET + 8 * f));
    if (in.left != 0)
        return cse_fail(CSE_DATA, "control message %s: %zu bytes follow its last field", row->name,
                        in.left);
    return CSE_OK;
}

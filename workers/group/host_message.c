/* The table gives the form; what numbers may be is checked here, once for all receivers. */
#include "workers/group/host_message.h"

#include <string.h>

#define FIELD_ROW(type_, name_) { CSE_FIELD_##type_, #name_ },
#define MESSAGE_ROW(number_, upper_, lower_, fields_) \
    { .number = (number_), .name = #upper_, .fields = { fields_ } },

static const cse_message_row rows[] = { CSE_HOST_MESSAGE_TABLE(MESSAGE_ROW, FIELD_ROW) };

static const cse_message_format format = { .mark = "CSEH",
                                           .what = "message of a host",
                                           .version = CSE_HOST_MESSAGE_VERSION,
                                           .most_bytes = CSE_HOST_MESSAGE_MAX_BYTES,
                                           .rows = rows,
                                           .row_count = sizeof rows / sizeof rows[0] };

const char *cse_host_message_name(cse_host_message_kind kind)
{
    const cse_message_row *row = cse_message_row_of(&format, (unsigned)kind);
    return row != NULL ? row->name : "unknown";
}

cse_status cse_host_message_encode(const cse_host_message *message, cse_text *out)
{
    return cse_message_write(&format, (unsigned)message->kind, &message->hello, out);
}

/* Every number counts something. */
static cse_status check_numbers(const cse_host_message *message, const cse_message_row *row)
{
    const unsigned char *at = (const unsigned char *)&message->hello;
    for (const cse_message_field *f = row->fields; f->name != NULL; f++) {
        const bool counts = f->type == CSE_FIELD_INTEGER;
        if (counts && *(const int64_t *)at < 0)
            return cse_fail(CSE_DATA, "%s %s: field %s is negative", format.what, row->name,
                            f->name);
        at += f->type == CSE_FIELD_BYTES ? sizeof(cse_message_bytes) : 8;
    }
    if (message->kind == CSE_HOST_TURN &&
        (message->turn.digests.size % 8 != 0 || message->turn.others.size % 16 != 0 ||
         message->turn.others.size > (size_t)16 * CSE_MAX_HOSTS))
        return cse_fail(CSE_DATA, "%s TURN: %zu bytes of digests, %zu of other hosts", format.what,
                        message->turn.digests.size, message->turn.others.size);
    if (message->kind == CSE_HOST_LOST && message->lost.hosts.size != CSE_HOST_SET_BYTES)
        return cse_fail(CSE_DATA, "%s LOST: %zu bytes are no set of hosts", format.what,
                        message->lost.hosts.size);
    if (message->kind == CSE_HOST_FILE && message->file.bytes.size > CSE_HOST_MESSAGE_CHUNK_BYTES)
        return cse_fail(CSE_DATA, "%s FILE: %zu bytes are more than a part has", format.what,
                        message->file.bytes.size);
    return CSE_OK;
}

cse_status cse_host_message_decode(const void *bytes, size_t size, cse_host_message *message)
{
    const cse_message_row *row;
    CSE_TRY(cse_message_read_kind(&format, bytes, size, &row));
    memset(message, 0, sizeof *message);
    message->kind = (cse_host_message_kind)row->number;
    CSE_TRY(cse_message_read_fields(&format, row, bytes, size, &message->hello));
    return check_numbers(message, row);
}

void cse_host_numbers_add(uint64_t number, cse_text *bytes)
{
    unsigned char raw[8];
    for (int b = 0; b < 8; b++)
        raw[b] = (unsigned char)(number >> (8 * b));
    cse_text_add_bytes(bytes, (const char *)raw, sizeof raw);
}

uint64_t cse_host_number_at(const cse_message_bytes *bytes, size_t index)
{
    uint64_t number = 0;
    for (int b = 0; b < 8; b++)
        number |= (uint64_t)bytes->data[8 * index + (size_t)b] << (8 * b);
    return number;
}

size_t cse_host_bounds_encode(const int32_t *bounds, int host_count,
                              unsigned char bytes[CSE_HOST_BOUNDS_BYTES])
{
    for (int h = 0; h <= host_count; h++)
        for (int b = 0; b < 4; b++)
            bytes[4 * h + b] = (unsigned char)((uint32_t)bounds[h] >> (8 * b));
    return 4 * ((size_t)host_count + 1);
}

cse_status cse_host_bounds_decode(const cse_message_bytes *bytes, int host_count, int32_t *bounds)
{
    if (bytes->size != 4 * ((size_t)host_count + 1))
        return cse_fail(CSE_DATA, "%s CUT: %zu bytes are no bounds of %d hosts", format.what,
                        bytes->size, host_count);
    for (int h = 0; h <= host_count; h++) {
        const unsigned char *at = bytes->data + 4 * h;
        bounds[h] = (int32_t)((uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 |
                              (uint32_t)at[3] << 24);
        if (h == 0 ? bounds[h] != 0 : bounds[h] < bounds[h - 1])
            return cse_fail(CSE_DATA, "%s CUT: bound %d of host %d", format.what, bounds[h], h);
    }
    return CSE_OK;
}

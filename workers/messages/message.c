/* Messages by table: a new message is a new row of the header's table and nothing else. */
#include "workers/messages/message.h"

#include <string.h>

#define FIELD_ROW(type_, name_) { CSE_FIELD_##type_, #name_ },
#define MESSAGE_ROW(number_, upper_, lower_, fields_) \
    { .number = (number_), .name = #upper_, .fields = { fields_ } },

static const cse_message_row rows[] = { CSE_MESSAGE_TABLE(MESSAGE_ROW, FIELD_ROW) };

static const cse_message_format format = { .mark = "CSEM",
                                           .what = "control message",
                                           .version = CSE_MESSAGE_VERSION,
                                           .most_bytes = CSE_MESSAGE_MAX_BYTES,
                                           .rows = rows,
                                           .row_count = sizeof rows / sizeof rows[0] };

const char *cse_message_kind_name(cse_message_kind kind)
{
    const cse_message_row *row = cse_message_row_of(&format, (unsigned)kind);
    return row != NULL ? row->name : "unknown";
}

cse_status cse_message_encode(const cse_message *message, cse_text *out)
{
    return cse_message_write(&format, (unsigned)message->kind, &message->join, out);
}

cse_status cse_message_decode(const void *bytes, size_t size, cse_message *message)
{
    const cse_message_row *row;
    CSE_TRY(cse_message_read_kind(&format, bytes, size, &row));
    memset(message, 0, sizeof *message);
    message->kind = (cse_message_kind)row->number;
    return cse_message_read_fields(&format, row, bytes, size, &message->join);
}

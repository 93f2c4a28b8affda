/* How messages of a table become bytes, and bytes become messages.
 *
 * A format is a table of rows: one row a kind, with the types of its fields. The rows decide how a
 * message is written and how it is read, so that the two cannot disagree. Nothing that is read is
 * trusted: sizes, kinds, versions and terminators are checked before a field is looked at.
 *
 * On the wire, all integers little-endian:
 *
 *     4 bytes of the format's mark | version:16 | kind:16 | body bytes:32 | fields in table order
 *     INTEGER: 8 bytes, two's complement      TEXT: length:32, bytes, one zero byte
 *     BYTES: length:32, bytes */
#ifndef CSE_WORKERS_MESSAGES_MESSAGE_CODEC_H
#define CSE_WORKERS_MESSAGES_MESSAGE_CODEC_H

#include <stddef.h>
#include <stdint.h>

#include "engine/base/text.h"

enum { CSE_MESSAGE_MOST_FIELDS = 16, CSE_MESSAGE_HEADER_BYTES = 12 };

/* In memory: int64_t; const char *; cse_message_bytes. */
typedef enum cse_field_type { CSE_FIELD_INTEGER, CSE_FIELD_TEXT, CSE_FIELD_BYTES } cse_field_type;

/* Borrowed: from the sender, or from the received bytes. */
typedef struct cse_message_bytes {
    const unsigned char *data;
    size_t size;
} cse_message_bytes;

typedef struct cse_message_field {
    cse_field_type type;
    const char *name;
} cse_message_field;

typedef struct cse_message_row {
    unsigned number; /* of the kind, on the wire */
    const char *name;
    cse_message_field fields[CSE_MESSAGE_MOST_FIELDS]; /* ended by a NULL name */
} cse_message_row;

typedef struct cse_message_format {
    const char *mark; /* 4 characters */
    const char *what; /* "control message": begins errors */
    int version;
    size_t most_bytes; /* of one message */
    const cse_message_row *rows;
    int row_count;
} cse_message_format;

/* The row of a kind; NULL: there is none. */
const cse_message_row *cse_message_row_of(const cse_message_format *format, unsigned kind);

/* Appends the message's bytes to `out`; `fields` are a struct of the row's fields in their order.
 * CSE_INTERNAL for a kind that is not in the table or when the message would be too long; `out` is
 * then as before. */
cse_status cse_message_write(const cse_message_format *format, unsigned kind, const void *fields,
                             cse_text *out);

/* The kind that `size` bytes hold, which are exactly one message. CSE_UNAVAILABLE for another
 * version, CSE_DATA for anything else that is not a message of the table. */
cse_status cse_message_read_kind(const cse_message_format *format, const void *bytes, size_t size,
                                 const cse_message_row **row);
/* Its fields, into zeroed memory; texts are views into `bytes`. */
cse_status cse_message_read_fields(const cse_message_format *format, const cse_message_row *row,
                                   const void *bytes, size_t size, void *fields);

#endif

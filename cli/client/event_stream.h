/* Parser of server-sent events, by the HTML standard (section 9.2.6): lines "field: value" end in
 * CR, LF or both; an empty line dispatches the event; a comment begins with a colon. The bytes may
 * arrive in chunks of any size. */
#ifndef CSE_CLI_CLIENT_EVENT_STREAM_H
#define CSE_CLI_CLIENT_EVENT_STREAM_H

#include "engine/base/text.h"

enum { CSE_EVENT_STREAM_MAX_BYTES = 16 << 20 }; /* of one event */

typedef struct cse_event_stream {
    void *self;
    /* `type` is "message" where none was named; `id` is the last one seen, "" before. */
    void (*on_event)(void *self, const char *type, const char *id, const char *data);
    /* The parser's own; start from zeroes. */
    cse_text line, type, data, id;
    bool has_data, after_return, not_first;
    int retry_ms; /* as the server asked, 0 before it did */
} cse_event_stream;

/* False when one event is too large. */
bool cse_event_stream_feed(cse_event_stream *stream, const char *bytes, size_t size);
/* For a new connection: discards an incomplete event; keeps the last id. */
void cse_event_stream_reset(cse_event_stream *stream);
void cse_event_stream_clear(cse_event_stream *stream);

#endif

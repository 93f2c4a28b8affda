/* Parses line by line; buffers an incomplete line until its end arrives. */
#include "cli/client/event_stream.h"

#include <stdlib.h>
#include <string.h>

static const char *text_of(const cse_text *text)
{
    return text->data != NULL ? text->data : "";
}

static void set_text(cse_text *text, const char *value)
{
    text->size = 0;
    cse_text_add_bytes(text, value, strlen(value));
}

static void dispatch(cse_event_stream *stream)
{
    if (stream->has_data) {
        const char *type = text_of(&stream->type);
        stream->on_event(stream->self, *type != '\0' ? type : "message", text_of(&stream->id),
                         text_of(&stream->data));
    }
    set_text(&stream->type, "");
    set_text(&stream->data, "");
    stream->has_data = false;
}

static void take_retry(cse_event_stream *stream, const char *value)
{
    if (*value == '\0' || strspn(value, "0123456789") != strlen(value) || strlen(value) > 8)
        return;
    stream->retry_ms = atoi(value);
}

static void take_line(cse_event_stream *stream, char *line)
{
    if (*line == '\0') {
        dispatch(stream);
        return;
    }
    char *value = line + strcspn(line, ":");
    if (value == line)
        return;
    if (*value == ':')
        *value++ = '\0';
    if (*value == ' ')
        value++;
    if (strcmp(line, "event") == 0) {
        set_text(&stream->type, value);
    } else if (strcmp(line, "id") == 0) {
        set_text(&stream->id, value);
    } else if (strcmp(line, "retry") == 0) {
        take_retry(stream, value);
    } else if (strcmp(line, "data") == 0) {
        if (stream->has_data)
            cse_text_add_bytes(&stream->data, "\n", 1);
        cse_text_add_bytes(&stream->data, value, strlen(value));
        stream->has_data = true;
    }
}

static void end_line(cse_event_stream *stream)
{
    cse_text_add_bytes(&stream->line, "", 0);
    char *line = stream->line.data;
    bool marked = !stream->not_first && strncmp(line, "\xef\xbb\xbf", 3) == 0;
    stream->not_first = true;
    take_line(stream, marked ? line + 3 : line);
    stream->line.size = 0;
}

bool cse_event_stream_feed(cse_event_stream *stream, const char *bytes, size_t size)
{
    const char *end = bytes + size;
    while (bytes < end) {
        if (*bytes == '\n' && stream->after_return) {
            stream->after_return = false;
            bytes++;
            continue;
        }
        stream->after_return = false;
        const char *stop = bytes;
        while (stop < end && *stop != '\n' && *stop != '\r')
            stop++;
        cse_text_add_bytes(&stream->line, bytes, (size_t)(stop - bytes));
        if (stream->line.size + stream->data.size > CSE_EVENT_STREAM_MAX_BYTES)
            return false;
        if (stop < end) {
            stream->after_return = *stop == '\r';
            end_line(stream);
            stop++;
        }
        bytes = stop;
    }
    return true;
}

void cse_event_stream_reset(cse_event_stream *stream)
{
    stream->line.size = 0;
    set_text(&stream->type, "");
    set_text(&stream->data, "");
    stream->has_data = stream->after_return = stream->not_first = false;
}

void cse_event_stream_clear(cse_event_stream *stream)
{
    cse_text_clear(&stream->line);
    cse_text_clear(&stream->type);
    cse_text_clear(&stream->data);
    cse_text_clear(&stream->id);
}

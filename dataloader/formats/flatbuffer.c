/* flatbuffers.dev/internals: places are relative, forwards, but for that of a table's fields. */
#include "dataloader/formats/flatbuffer.h"

enum { LIMIT_BYTES = 1 << 30 };

static bool lies(cse_flatbuffer *buffer, size_t at, size_t bytes)
{
    const bool inside =
        buffer->size <= LIMIT_BYTES && at <= buffer->size && bytes <= buffer->size - at;
    buffer->is_damaged = buffer->is_damaged || !inside;
    return inside;
}

static uint64_t number(cse_flatbuffer *buffer, size_t at, size_t width)
{
    uint64_t value = 0;
    if (!lies(buffer, at, width))
        return 0;
    for (size_t i = width; i > 0; i--)
        value = value << 8 | buffer->bytes[at + i - 1];
    return value;
}

static int64_t extended(uint64_t value, size_t width)
{
    const int shift = 64 - 8 * (int)width;
    return (int64_t)(value << shift) >> shift;
}

static cse_flat_table missing(cse_flatbuffer *buffer)
{
    return (cse_flat_table){ .buffer = buffer };
}

/* The place that the four bytes at `at` lead to; 0: none. */
static size_t follow(cse_flatbuffer *buffer, size_t at)
{
    const size_t to = at + (size_t)number(buffer, at, 4);
    return to > at && lies(buffer, to, 4) ? to : 0;
}

static cse_flat_table table_at(cse_flatbuffer *buffer, size_t at)
{
    if (at == 0)
        return missing(buffer);
    const int64_t fields = (int64_t)at - extended(number(buffer, at, 4), 4);
    if (fields < 0 || !lies(buffer, (size_t)fields, 4)) {
        buffer->is_damaged = true;
        return missing(buffer);
    }
    const size_t bytes = (size_t)number(buffer, (size_t)fields, 2);
    const size_t own = (size_t)number(buffer, (size_t)fields + 2, 2);
    if (bytes < 4 || own < 4 || !lies(buffer, (size_t)fields, bytes) || !lies(buffer, at, own)) {
        buffer->is_damaged = true;
        return missing(buffer);
    }
    return (cse_flat_table){ buffer, at, (size_t)fields + 4, (bytes - 4) / 2, own };
}

cse_flat_table cse_flat_root(cse_flatbuffer *buffer)
{
    return table_at(buffer, follow(buffer, 0));
}

/* Where a field of so many bytes stands; 0: it is missing. */
static size_t field_at(const cse_flat_table *table, int field, size_t width)
{
    if (table->at == 0 || (size_t)field >= table->count)
        return 0;
    const size_t place = (size_t)number(table->buffer, table->fields + 2 * (size_t)field, 2);
    if (place == 0)
        return 0;
    if (place < 4 || place + width > table->bytes) {
        table->buffer->is_damaged = true;
        return 0;
    }
    return table->at + place;
}

int64_t cse_flat_integer(const cse_flat_table *table, int field, size_t width, int64_t absent)
{
    const size_t at = field_at(table, field, width);
    return at != 0 ? extended(number(table->buffer, at, width), width) : absent;
}

cse_flat_table cse_flat_inner(const cse_flat_table *table, int field)
{
    const size_t at = field_at(table, field, 4);
    return table_at(table->buffer, at != 0 ? follow(table->buffer, at) : 0);
}

cse_flat_vector cse_flat_list(const cse_flat_table *table, int field, size_t width)
{
    cse_flatbuffer *buffer = table->buffer;
    const size_t place = field_at(table, field, 4);
    const size_t at = place != 0 ? follow(buffer, place) : 0;
    const cse_flat_vector none = { .buffer = buffer, .width = width };
    if (at == 0)
        return none;
    const size_t count = (size_t)number(buffer, at, 4);
    if (count > LIMIT_BYTES || !lies(buffer, at + 4, count * width)) {
        buffer->is_damaged = true;
        return none;
    }
    return (cse_flat_vector){ buffer, at + 4, count, width };
}

const char *cse_flat_text(const cse_flat_table *table, int field, size_t *size)
{
    const cse_flat_vector text = cse_flat_list(table, field, 1);
    *size = text.count;
    return text.at != 0 ? (const char *)text.buffer->bytes + text.at : NULL;
}

cse_flat_table cse_flat_list_table(const cse_flat_vector *list, size_t index)
{
    return table_at(list->buffer,
                    index < list->count ? follow(list->buffer, list->at + index * list->width) : 0);
}

int64_t cse_flat_list_integer(const cse_flat_vector *list, size_t index, size_t offset)
{
    return index < list->count && offset + 8 <= list->width
               ? extended(number(list->buffer, list->at + index * list->width + offset, 8), 8)
               : 0;
}

/* Numbers are in groups of seven bits, the lowest first. */
#include "engine/base/protobuf.h"

#include <string.h>

enum { VARINT = 0, BYTES = 2, FOUR_BYTES = 5 };

static void add_varint(cse_text *message, uint64_t value)
{
    char bytes[10];
    size_t count = 0;
    do {
        bytes[count] = (char)((value & 127) | (value > 127 ? 128 : 0));
        value >>= 7;
        count++;
    } while (value > 0);
    cse_text_add_bytes(message, bytes, count);
}

static void add_tag(cse_text *message, int field, int type)
{
    add_varint(message, (uint64_t)field << 3 | (uint64_t)type);
}

void cse_protobuf_add_integer(cse_text *message, int field, int64_t value)
{
    add_tag(message, field, VARINT);
    add_varint(message, (uint64_t)value);
}

void cse_protobuf_add_float(cse_text *message, int field, float value)
{
    uint32_t bits;
    char bytes[4];
    memcpy(&bits, &value, sizeof bits);
    for (int i = 0; i < 4; i++)
        bytes[i] = (char)(bits >> (8 * i));
    add_tag(message, field, FOUR_BYTES);
    cse_text_add_bytes(message, bytes, sizeof bytes);
}

void cse_protobuf_add_head(cse_text *message, int field, uint64_t size)
{
    add_tag(message, field, BYTES);
    add_varint(message, size);
}

void cse_protobuf_add_bytes(cse_text *message, int field, const void *bytes, size_t size)
{
    cse_protobuf_add_head(message, field, size);
    if (size > 0)
        cse_text_add_bytes(message, bytes, size);
}

void cse_protobuf_add_text(cse_text *message, int field, const char *text)
{
    cse_protobuf_add_bytes(message, field, text, strlen(text));
}

void cse_protobuf_take(cse_text *message, int field, cse_text *inner)
{
    cse_protobuf_add_bytes(message, field, inner->data, inner->size);
    cse_text_clear(inner);
}

/* Each length is compared with what is left of the message. */
#include "dataloader/tokenizer/protobuf_fields.h"

#include <string.h>

enum { VARINT_MOST_BYTES = 10, WIRE_INTEGER = 0, WIRE_64 = 1, WIRE_BYTES = 2, WIRE_32 = 5 };

static cse_status read_varint(cse_protobuf_message *message, uint64_t *value)
{
    *value = 0;
    for (int i = 0; i < VARINT_MOST_BYTES && message->at < message->size; i++) {
        const unsigned char byte = message->bytes[message->at++];
        *value |= (uint64_t)(byte & 0x7f) << 7 * i;
        if ((byte & 0x80) == 0)
            return CSE_OK;
    }
    return cse_fail(CSE_DATA,
                    "it is cut off or damaged: a number at byte %zu of %zu of a message "
                    "has no end",
                    message->at, message->size);
}

static cse_status read_fixed(cse_protobuf_message *message, size_t bytes, uint64_t *value)
{
    *value = 0;
    if (message->size - message->at < bytes)
        return cse_fail(CSE_DATA,
                        "it is cut off: %zu bytes are needed at byte %zu of %zu of a "
                        "message",
                        bytes, message->at, message->size);
    for (size_t i = 0; i < bytes; i++)
        *value |= (uint64_t)message->bytes[message->at++] << 8 * i;
    return CSE_OK;
}

cse_status cse_protobuf_next(cse_protobuf_message *message, cse_protobuf_field *field)
{
    uint64_t key;
    *field = (cse_protobuf_field){ 0 };
    if (message->at == message->size)
        return CSE_OK;
    CSE_TRY(read_varint(message, &key));
    field->number = key >> 3;
    field->wire = (int)(key & 7);
    if (field->number == 0)
        return cse_fail(CSE_DATA,
                        "it is damaged: a field at byte %zu of a message has the number "
                        "0",
                        message->at);
    if (field->wire == WIRE_INTEGER)
        return read_varint(message, &field->integer);
    if (field->wire == WIRE_32 || field->wire == WIRE_64)
        return read_fixed(message, field->wire == WIRE_32 ? 4 : 8, &field->integer);
    if (field->wire != WIRE_BYTES)
        return cse_fail(CSE_DATA, "it is damaged: a field at byte %zu of a message is of kind %d",
                        message->at, field->wire);
    uint64_t size;
    CSE_TRY(read_varint(message, &size));
    if (size > message->size - message->at)
        return cse_fail(CSE_DATA,
                        "it is cut off: a field of %llu bytes begins at byte %zu of %zu of a "
                        "message",
                        (unsigned long long)size, message->at, message->size);
    field->inner = (cse_protobuf_message){ message->bytes + message->at, (size_t)size, 0 };
    message->at += (size_t)size;
    return CSE_OK;
}

float cse_protobuf_float(const cse_protobuf_field *field)
{
    const uint32_t bits = (uint32_t)field->integer;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

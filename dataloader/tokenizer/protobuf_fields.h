/* Reads a message in the wire format of protocol buffers, field by field. */
#ifndef CSE_DATALOADER_TOKENIZER_PROTOBUF_FIELDS_H
#define CSE_DATALOADER_TOKENIZER_PROTOBUF_FIELDS_H

#include <stddef.h>
#include <stdint.h>

#include "csengine/status.h"

typedef struct cse_protobuf_message {
    const unsigned char *bytes;
    size_t size, at;
} cse_protobuf_message;

typedef struct cse_protobuf_field {
    uint64_t number;
    int wire; /* 0: `integer`; 1 and 5: `integer` of 64 and 32 bits; 2: bytes */
    uint64_t integer;
    cse_protobuf_message inner;
} cse_protobuf_field;

/* The next field; number 0: there is none. CSE_DATA for one that ends behind the message. */
cse_status cse_protobuf_next(cse_protobuf_message *message, cse_protobuf_field *field);
float cse_protobuf_float(const cse_protobuf_field *field);

#endif

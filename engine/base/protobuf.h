/* Writes messages in the wire format of protocol buffers: fields, each a number and a value. A
 * message is bytes; two that are laid one after the other are one with the fields of both. */
#ifndef CSE_BASE_PROTOBUF_H
#define CSE_BASE_PROTOBUF_H

#include "engine/base/text.h"

void cse_protobuf_add_integer(cse_text *message, int field, int64_t value);
void cse_protobuf_add_float(cse_text *message, int field, float value);
/* Bytes, a text, or another message. */
void cse_protobuf_add_bytes(cse_text *message, int field, const void *bytes, size_t size);
void cse_protobuf_add_text(cse_text *message, int field, const char *text);
/* What stands before `size` bytes of a field that are written elsewhere. */
void cse_protobuf_add_head(cse_text *message, int field, uint64_t size);
/* Adds a message, and clears it. */
void cse_protobuf_take(cse_text *message, int field, cse_text *inner);

#endif

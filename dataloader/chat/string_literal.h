/* What a quoted text of a template stands for: the escapes of Python. */
#ifndef CSE_DATALOADER_CHAT_STRING_LITERAL_H
#define CSE_DATALOADER_CHAT_STRING_LITERAL_H

#include <stddef.h>

#include "engine/base/arena.h"

/* The text of what stands between the quotes, in the arena. NULL: *wrong says why. */
const char *cse_string_literal(cse_arena *arena, const char *bytes, size_t size, size_t *length,
                               const char **wrong);

#endif

/* Bytes from another host are either refused, or a message whose encoding is these bytes. */
#include <stdlib.h>
#include <string.h>

#include "workers/group/host_message.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cse_host_message message;
    cse_text bytes = { 0 };
    if (cse_host_message_decode(data, size, &message) != CSE_OK)
        return *cse_error_message() == '\0' ? abort(), 0 : 0;
    if (cse_host_message_encode(&message, &bytes) != CSE_OK || bytes.size != size ||
        memcmp(bytes.data, data, size) != 0)
        abort();
    cse_text_clear(&bytes);
    return 0;
}

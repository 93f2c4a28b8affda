/* The HTTP library passes on names that are none ("Transfer-Encoding ") and reads the body as if
 * they had not been sent, so that all names and values are looked at here. */
#include "dashboard/http/framing.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

enum { MAX_HEADERS = 64 };

typedef struct header_names {
    const char *names[MAX_HEADERS];
    int count;
    const char *fault;
} header_names;

static bool is_token(const char *name, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if ((unsigned char)name[i] <= ' ' || (unsigned char)name[i] >= 127 ||
            strchr("()<>@,;:\\\"/[]?={}", name[i]) != NULL)
            return false;
    return size > 0;
}

static bool is_text(const char *value, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (((unsigned char)value[i] < ' ' && value[i] != '\t') || value[i] == 127)
            return false;
    return true;
}

static enum MHD_Result note_header(void *self, enum MHD_ValueKind kind, const char *name,
                                   size_t name_size, const char *value, size_t value_size)
{
    header_names *seen = self;
    (void)kind;
    if (!is_token(name, name_size))
        seen->fault = "the name of a header has a blank or a character that is not accepted there";
    else if (value != NULL && !is_text(value, value_size))
        seen->fault = "the value of a header has a control character";
    for (int i = 0; i < seen->count; i++)
        if (strcasecmp(seen->names[i], name) == 0)
            seen->fault = "a header occurs more than once; each may occur once";
    if (seen->count == MAX_HEADERS)
        seen->fault = "there are more than 64 headers";
    else
        seen->names[seen->count++] = name;
    return seen->fault == NULL ? MHD_YES : MHD_NO;
}

const char *cse_framing_fault(struct MHD_Connection *connection)
{
    header_names seen = { .count = 0 };
    MHD_get_connection_values_n(connection, MHD_HEADER_KIND, note_header, &seen);
    if (seen.fault != NULL)
        return seen.fault;
    const char *length = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Content-Length");
    const char *coding =
        MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Transfer-Encoding");
    if (length != NULL &&
        (coding != NULL || *length == '\0' || strspn(length, "0123456789") != strlen(length)))
        return "Content-Length must be a number and come without Transfer-Encoding";
    if (coding != NULL && strcasecmp(coding, "chunked") != 0)
        return "the accepted Transfer-Encoding is chunked, alone";
    return NULL;
}

bool cse_framing_is_proxied(struct MHD_Connection *connection)
{
    static const char *const names[] = { "Via", "Forwarded", "X-Forwarded-For", "X-Real-IP" };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (MHD_lookup_connection_value(connection, MHD_HEADER_KIND, names[i]) != NULL)
            return true;
    return false;
}

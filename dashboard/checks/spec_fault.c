/* Each is an object of the API's schema Diagnostic. */
#include "dashboard/checks/spec_fault.h"

bool cse_spec_fault(json_t *diagnostics, const char *pointer, const char *message)
{
    json_array_append_new(diagnostics,
                          json_pack("{s:s, s:s}", "pointer", pointer, "message", message));
    return false;
}

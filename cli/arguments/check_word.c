/* The error message suggests the nearest accepted word and lists all of them. */
#include "cli/arguments/check_word.h"

#include <string.h>

#include "engine/base/registry.h"
#include "engine/base/text.h"

cse_status cse_check_word(const char *what, const char *word, const char *const *accepted)
{
    cse_text names = { 0 };
    for (const char *const *a = accepted; *a != NULL; a++) {
        if (strcmp(*a, word) == 0) {
            cse_text_clear(&names);
            return CSE_OK;
        }
        cse_text_add(&names, "%s%s", a > accepted ? ", " : "", *a);
    }
    const char *near = cse_did_you_mean(word, accepted);
    cse_status status = cse_fail(CSE_USAGE, "%s \"%s\"%s%s%s; accepted: %s", what, word,
                                 near != NULL ? "; did you mean \"" : "", near != NULL ? near : "",
                                 near != NULL ? "\"?" : "", names.data != NULL ? names.data : "");
    cse_text_clear(&names);
    return status;
}

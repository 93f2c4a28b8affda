/* The rules of name.h. The letters are those of ASCII: no name looks like another one, and none
 * means something to a compiler, a shell, a terminal or a file format. */
#include "engine/base/name.h"

#include <string.h>

static bool is_made_of(const char *name, const char *more, size_t longest)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    const size_t length = name != NULL ? strnlen(name, longest + 1) : 0;
    if (length == 0 || length > longest || strchr(more, name[0]) != NULL)
        return false;
    size_t at = 0;
    while (at < length && (strchr(letters, name[at]) != NULL || strchr(more, name[at]) != NULL))
        at++;
    return at == length;
}

bool cse_name_is_good(const char *name)
{
    return is_made_of(name, "-.", CSE_LONGEST_NAME);
}

bool cse_name_is_path(const char *name)
{
    return is_made_of(name, "-.", CSE_LONGEST_PATH);
}

bool cse_name_is_series(const char *name)
{
    return is_made_of(name, "-./", CSE_LONGEST_PATH) && strstr(name, "//") == NULL &&
           strstr(name, "/.") == NULL && name[strlen(name) - 1] != '/';
}

static cse_status refuse(const char *what, const char *name, const char *accepted)
{
    return cse_fail_at(&(cse_error){ .status = CSE_CONFIG, .accepted = accepted },
                       "%s \"%.80s\" is not accepted as a name", what, name != NULL ? name : "");
}

cse_status cse_name_check_path(const char *what, const char *name)
{
    return cse_name_is_path(name) ? CSE_OK
                                  : refuse(what, name, "accepted: " CSE_PATH_NAME_ACCEPTED);
}

cse_status cse_name_check_series(const char *what, const char *name)
{
    return cse_name_is_series(name) ? CSE_OK
                                    : refuse(what, name, "accepted: " CSE_SERIES_NAME_ACCEPTED);
}

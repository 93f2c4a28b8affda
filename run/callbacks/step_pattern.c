/* A name alone, so that what a configuration writes stays in the folder of its run. */
#include "run/callbacks/step_pattern.h"

#include <stdio.h>
#include <string.h>

#include "engine/base/name.h"

static const char mark[] = "{step}";

cse_status cse_step_pattern_check(const cse_settings *settings, const char *name, bool needs_step)
{
    const char *text = cse_settings_text(settings, name);
    const char *found = strstr(text, mark);
    char plain[200];
    const bool once = found != NULL && strstr(found + 1, mark) == NULL;
    snprintf(plain, sizeof plain, "%.*s%s", found != NULL ? (int)(found - text) : 0, text,
             found != NULL ? found + strlen(mark) : text);
    const bool is_name = cse_name_is_good(*plain != '\0' ? plain : once ? "0" : "");
    const bool own = strncmp(text, "checkpoint_", strlen("checkpoint_")) == 0;
    if (is_name && !own && strlen(text) < sizeof plain && (needs_step ? once : found == NULL))
        return CSE_OK;
    return cse_fail(CSE_CONFIG,
                    "%s (%s): \"%.60s\" is not accepted; accepted: the name of a file "
                    "in model_dir, other than checkpoint_..., %s {step}",
                    name, cse_settings_origin(settings, name), text,
                    needs_step ? "with one" : "without");
}

void cse_step_pattern_path(const char *folder, const char *pattern, int64_t step, char *path,
                           size_t size)
{
    const char *found = strstr(pattern, mark);
    if (found == NULL)
        snprintf(path, size, "%s/%s", folder, pattern);
    else
        snprintf(path, size, "%s/%.*s%lld%s", folder, (int)(found - pattern), pattern,
                 (long long)step, found + strlen(mark));
}

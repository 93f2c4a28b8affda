/* Each text as an artefact of its own. */
#include "run/record/recorded_configuration.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/text.h"

/* Begins the line that names a folder. */
static const char mark[] = "# in ";

static void keep(cse_store *store, const char *name, const char *type, const char *text)
{
    if (text != NULL)
        cse_store_artefact(store, name, type, text, strlen(text));
}

void cse_configuration_record(cse_store *store, const cse_configuration_texts *texts)
{
    char folder[PATH_MAX];
    cse_text given = { 0 };
    keep(store, "config.yaml", "application/yaml", texts->resolved);
    keep(store, "config.origins.json", "application/json", texts->origins);
    if (texts->given != NULL && getcwd(folder, sizeof folder) != NULL)
        cse_text_add(&given, "%s%s\n%s", mark, folder, texts->given);
    keep(store, "config.given.yaml", "application/yaml", given.data);
    cse_text_clear(&given);
}

bool cse_configuration_folder(const char *given, char folder[PATH_MAX])
{
    const size_t length = strcspn(given, "\n"), begin = sizeof mark - 1;
    if (strncmp(given, mark, begin) != 0 || length - begin >= PATH_MAX)
        return false;
    memcpy(folder, given + begin, length - begin);
    folder[length - begin] = '\0';
    return true;
}

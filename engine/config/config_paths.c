/* Every setting that is a path has the type CSE_SETTING_PATH, whose section says whether it is read
 * or written: loggers and the compiler write, all others read. */
#include "engine/config/config_paths.h"

#include <string.h>

typedef struct check {
    const cse_confinement *confinement;
    cse_diagnostics *diagnostics;
} check;

static cse_status check_one(const check *c, cse_path_use use, const char *name, const char *path,
                            cse_place place)
{
    if (path == NULL || cse_confinement_check(c->confinement, use, path) == CSE_OK)
        return CSE_OK;
    cse_error error = *cse_error_last();
    error.context = "configuration: ";
    error.place = place;
    return cse_diagnostics_take(c->diagnostics, cse_fail_at(&error, "%s: %s", name, error.message));
}

static cse_status check_settings(const check *c, cse_path_use use, const cse_settings *settings)
{
    if (settings == NULL || settings->faulty)
        return CSE_OK;
    for (int i = 0; i < settings->count; i++) {
        const cse_setting_value *value = &settings->values[i];
        const cse_setting *setting = &settings->table[i];
        if (setting->type == CSE_SETTING_SETTINGS)
            CSE_TRY(check_settings(c, use, value->nested));
        else if (setting->type == CSE_SETTING_PATH && !value->is_null)
            CSE_TRY(check_one(c, use, setting->name, value->text,
                              cse_settings_place(settings, setting->name)));
    }
    return CSE_OK;
}

/* A path of the common settings; NULL where it is not given, or a level of the path has an error.
 */
static cse_status check_common(const check *c, cse_path_use use, const cse_settings *section,
                               const char *name)
{
    if (section == NULL || section->faulty || !cse_settings_has(section, name))
        return CSE_OK;
    const char *path = cse_settings_text(section, name);
    bool newest = use == CSE_PATH_INPUT && strcmp(path, "newest") == 0;
    return newest ? CSE_OK : check_one(c, use, name, path, cse_settings_place(section, name));
}

cse_status cse_config_check_paths(const cse_settings *trainer, const cse_plugin_list *sections,
                                  const cse_confinement *confinement, cse_diagnostics *diagnostics)
{
    const check c = { confinement, diagnostics };
    if (confinement == NULL || trainer == NULL)
        return CSE_OK;
    const int loggers = cse_plugin_section_index("loggers");
    CSE_TRY(check_common(&c, CSE_PATH_OUTPUT, cse_settings_section(trainer, "init.backend"),
                         "compile_dir"));
    CSE_TRY(check_common(&c, CSE_PATH_INPUT, cse_settings_section(trainer, "fit"), "ckpt_path"));
    for (int s = 0; s < CSE_PLUGIN_SECTION_COUNT; s++)
        for (int i = 0; i < sections[s].count; i++) {
            const cse_config_plugin *plugin = &sections[s].plugins[i];
            CSE_TRY(
                check_one(&c, CSE_PATH_LIBRARY, "library", plugin->library, plugin->library_place));
            CSE_TRY(check_settings(&c, s == loggers ? CSE_PATH_OUTPUT : CSE_PATH_INPUT,
                                   plugin->settings));
        }
    return CSE_OK;
}

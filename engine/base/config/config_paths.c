/* Every setting that is a path has the type CSE_SETTING_PATH, whose section says whether it is read
 * or written: loggers, callbacks and the compiler write, all others read; of a program, that it is
 * run. */
#include "engine/base/config/config_paths.h"

#include <string.h>

#include "engine/base/path.h"

static const char library_key[] = "library";

typedef struct check {
    const cse_confinement *confinement;
    cse_diagnostics *diagnostics;
} check;

/* A setting of this name is code that the job runs. */
static const char program_key[] = "program";

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
        else if (setting->type == CSE_SETTING_PATH && !value->is_null &&
                 strcmp(setting->name, library_key) != 0)
            CSE_TRY(check_one(c, strcmp(setting->name, program_key) == 0 ? CSE_PATH_PROGRAM : use,
                              setting->name, value->text,
                              cse_settings_place(settings, setting->name)));
        for (int k = 0; setting->type == CSE_SETTING_PATHS && k < value->count; k++)
            CSE_TRY(check_one(c, use, setting->name, value->entries[k].text,
                              value->entries[k].node->place));
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

/* ---- the cluster ---- */

/* They choose the programs that reach other hosts, and their arguments. */
static const char *const of_operator[] = { "host_launcher", "host_launcher_options",
                                           "host_link_options" };

static cse_status check_cluster(const check *c, const cse_settings *backend)
{
    if (backend == NULL || backend->faulty)
        return CSE_OK;
    const cse_settings *cluster = cse_settings_nested(backend, "cluster_config");
    for (size_t i = 0; cluster != NULL && i < sizeof of_operator / sizeof of_operator[0]; i++) {
        if (cluster->faulty || !cse_settings_has(cluster, of_operator[i]))
            continue;
        const cse_error error = { .status = CSE_CONFIG,
                                  .context = "configuration: ",
                                  .place = cse_settings_place(cluster, of_operator[i]) };
        CSE_TRY(cse_diagnostics_take(
            c->diagnostics, cse_fail_at(&error,
                                        "%s: how hosts are reached is the operator's to choose; "
                                        "leave it out of a confined job",
                                        of_operator[i])));
    }
    return CSE_OK;
}

/* ---- alerts ---- */

static cse_status check_alerts(const check *c, const cse_settings *alerts)
{
    if (alerts == NULL || alerts->faulty)
        return CSE_OK;
    CSE_TRY(check_common(c, CSE_PATH_PROGRAM, alerts, program_key));
    if (!cse_settings_has(alerts, "webhook"))
        return CSE_OK;
    const cse_error error = { .status = CSE_CONFIG,
                              .context = "configuration: ",
                              .place = cse_settings_place(alerts, "webhook") };
    return cse_diagnostics_take(
        c->diagnostics, cse_fail_at(&error, "webhook: a confined job opens no connections; its "
                                            "alerts are on its page and in its events"));
}

/* ---- libraries ---- */

/* Calls `visit` for each value of the key, in the order of the text, until one returns a failure.
 * Trees have a bounded depth (yaml.h). */
static cse_status each_library(const cse_yaml_node *node,
                               cse_status (*visit)(void *self, const cse_yaml_node *library),
                               void *self)
{
    for (int i = 0; node != NULL && i < node->count; i++) {
        if (node->kind == CSE_YAML_MAPPING && strcmp(node->keys[i].text, library_key) == 0 &&
            !cse_yaml_is_null(node->children[i]))
            CSE_TRY(visit(self, node->children[i]));
        CSE_TRY(each_library(node->children[i], visit, self));
    }
    return CSE_OK;
}

static cse_status keep_first(void *self, const cse_yaml_node *library)
{
    const cse_yaml_node **first = self;
    if (*first == NULL)
        *first = library;
    return CSE_OK;
}

const cse_yaml_node *cse_config_first_library(const cse_yaml_node *root)
{
    const cse_yaml_node *first = NULL;
    each_library(root, keep_first, &first);
    return first;
}

typedef struct library_check {
    check check;
    cse_arena *arena;
} library_check;

static cse_status check_library(void *self, const cse_yaml_node *library)
{
    const library_check *c = self;
    const char *path = NULL;
    if (library->kind != CSE_YAML_SCALAR || cse_path_expand(c->arena, library->text, &path) != NULL)
        return CSE_OK; /* no path: refused where it is read */
    return check_one(&c->check, CSE_PATH_LIBRARY, library_key, path, library->place);
}

cse_status cse_config_check_libraries(cse_arena *arena, const cse_yaml_node *root,
                                      const cse_confinement *confinement,
                                      cse_diagnostics *diagnostics)
{
    library_check c = { { confinement, diagnostics }, arena };
    return confinement != NULL ? each_library(root, check_library, &c) : CSE_OK;
}

/* ---- other paths ---- */

cse_status cse_config_check_paths(const cse_settings *trainer, const cse_plugin_list *sections,
                                  const cse_confinement *confinement, cse_diagnostics *diagnostics)
{
    const check c = { confinement, diagnostics };
    if (confinement == NULL || trainer == NULL)
        return CSE_OK;
    CSE_TRY(check_cluster(&c, cse_settings_section(trainer, "init.backend")));
    const int loggers = cse_plugin_section_index("loggers");
    const int callbacks = cse_plugin_section_index("callbacks");
    CSE_TRY(check_common(&c, CSE_PATH_OUTPUT, cse_settings_section(trainer, "init.backend"),
                         "compile_dir"));
    CSE_TRY(check_common(&c, CSE_PATH_OUTPUT, cse_settings_section(trainer, "init.states"),
                         "directory"));
    CSE_TRY(check_alerts(&c, cse_settings_section(trainer, "init.alerts")));
    CSE_TRY(check_common(&c, CSE_PATH_INPUT, cse_settings_section(trainer, "fit"), "ckpt_path"));
    CSE_TRY(check_common(&c, CSE_PATH_INPUT, cse_settings_section(trainer, "fit"), "weights"));
    CSE_TRY(
        check_common(&c, CSE_PATH_INPUT, cse_settings_section(trainer, "validate"), "ckpt_path"));
    for (int s = 0; s < CSE_PLUGIN_SECTION_COUNT; s++)
        for (int i = 0; i < sections[s].count; i++) {
            const cse_config_plugin *plugin = &sections[s].plugins[i];
            const bool writes = s == loggers || s == callbacks;
            CSE_TRY(
                check_settings(&c, writes ? CSE_PATH_OUTPUT : CSE_PATH_INPUT, plugin->settings));
        }
    return CSE_OK;
}

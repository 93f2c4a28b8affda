/* A path is settled before the job's processes exist: they, and the chain of identity, get the path
 * of the file that was found. The first folder that has it wins, in the order of the settings. */
#include "engine/base/config/config_mounts.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/beneath.h"
#include "engine/base/config/settings.h"
#include "engine/base/path.h"

static const char context[] = "configuration: ";
static const char defaults_variable[] = "CSE_CLUSTER_DEFAULTS";

typedef struct folders {
    cse_arena *arena;
    const char *setting; /* "mount_dirs" */
    cse_path_use use;
    const cse_confinement *confinement;
    const char **paths;
    int count;
} folders;

static bool is_known(const folders *f, const char *path)
{
    for (int i = 0; i < f->count; i++)
        if (strcmp(f->paths[i], path) == 0)
            return true;
    return false;
}

/* What a confined job may not read is not even looked at. */
static cse_status add_folder(folders *f, const char *text, cse_place place)
{
    const char *path = NULL, *problem = cse_path_expand(f->arena, text, &path);
    if (problem != NULL)
        return cse_fail_at(
            &(cse_error){
                .status = CSE_CONFIG, .context = context, .place = place, .hint = cse_path_hint },
            "%s: \"%.200s\" %s", f->setting, text, problem);
    if (cse_confinement_check(f->confinement, f->use, path) != CSE_OK) {
        cse_error error = *cse_error_last();
        error.context = context;
        error.place = place;
        return cse_fail_at(&error, "%s: %s", f->setting, error.message);
    }
    const int folder = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0)
        return cse_fail_at(&(cse_error){ .status = CSE_CONFIG,
                                         .context = context,
                                         .place = place,
                                         .hint = "make it, or leave the entry out" },
                           "%s: %.200s is no folder of this machine", f->setting, path);
    close(folder);
    if (!is_known(f, path))
        f->paths[f->count++] = path;
    return CSE_OK;
}

static cse_status add_all(folders *f, const cse_yaml_node *list, cse_diagnostics *diagnostics)
{
    for (int i = 0; list != NULL && i < list->count; i++)
        if (list->children[i]->kind == CSE_YAML_SCALAR)
            CSE_TRY(cse_diagnostics_take(
                diagnostics, add_folder(f, list->children[i]->text, list->children[i]->place)));
    return CSE_OK;
}

/* The file that CSE_CLUSTER_DEFAULTS names: a mapping with mount_dirs and python_paths. NULL:
 * there is none. */
static cse_status read_defaults(const cse_config_loading *loading,
                                const cse_confinement *confinement, cse_yaml_node **defaults)
{
    static const char *const names[] = { "mount_dirs", "python_paths", NULL };
    const char *path = getenv(defaults_variable);
    *defaults = NULL;
    if (path == NULL || *path == '\0' || confinement != NULL)
        return CSE_OK;
    cse_status status = cse_yaml_parse_file(loading->arena, path, defaults);
    if (status != CSE_OK)
        return cse_fail_within(status, "%s: ", defaults_variable);
    bool lists = (*defaults)->kind == CSE_YAML_MAPPING &&
                 cse_yaml_without(loading->arena, *defaults, names)->count == 0;
    for (int i = 0; lists && i < (*defaults)->count; i++)
        lists = (*defaults)->children[i]->kind == CSE_YAML_SEQUENCE;
    if (!lists)
        return cse_fail_at(CSE_ERROR_AT("CSE_CLUSTER_DEFAULTS: ", (*defaults)->place),
                           "lists of folders belong here, \"mount_dirs: [...]\" and "
                           "\"python_paths: [...]\"");
    return CSE_OK;
}

static cse_status collect(const cse_config_loading *loading, const cse_settings *cluster,
                          const cse_yaml_node *defaults, folders *f)
{
    const int given = cse_settings_count(cluster, f->setting);
    const cse_yaml_node *node = cse_settings_node(cluster, f->setting);
    const cse_yaml_node *more = cse_yaml_find(defaults, f->setting);
    f->arena = loading->arena;
    f->paths = cse_arena_alloc(loading->arena,
                               ((size_t)given + (size_t)(more != NULL ? more->count : 0) + 1) *
                                   sizeof *f->paths);
    for (int i = 0; i < given; i++)
        cse_settings_text_at(cluster, f->setting, i); /* it is read */
    CSE_TRY(add_all(f, node, loading->diagnostics));
    return add_all(f, more, loading->diagnostics);
}

/* ---- looking ---- */

static bool has(const folders *f, const char *folder, const char *path)
{
    const int directory = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0)
        return false;
    const int file = f->confinement != NULL ? cse_open_beneath(directory, path, O_PATH, 0)
                                            : openat(directory, path, O_PATH | O_CLOEXEC);
    close(directory);
    if (file >= 0)
        close(file);
    return file >= 0;
}

/* The path in the first folder that has it; the path itself where there is none. */
static const char *look(const folders *f, const char *path)
{
    if (path == NULL || path[0] == '/' || (f->confinement == NULL && access(path, F_OK) == 0))
        return path;
    for (int i = 0; i < f->count; i++)
        if (has(f, f->paths[i], path))
            return cse_arena_printf(f->arena, "%s/%s", f->paths[i], path);
    return path;
}

/* The tree has it, too: input workers read the settings from there. */
static void look_for_settings(const folders *f, const cse_settings *settings)
{
    for (int i = 0; settings != NULL && !settings->faulty && i < settings->count; i++) {
        cse_setting_value *value = &settings->values[i];
        for (int k = 0; settings->table[i].type == CSE_SETTING_PATHS && k < value->count; k++) {
            value->entries[k].text = look(f, value->entries[k].text);
            if (value->given)
                value->entries[k].node->text = value->entries[k].text;
        }
        if (settings->table[i].type != CSE_SETTING_PATH || value->is_null ||
            strcmp(settings->table[i].name, "library") == 0)
            continue;
        value->text = look(f, value->text);
        if (value->given)
            value->node->text = value->text;
    }
}

static void look_for_library(const folders *f, cse_config_plugin *plugin)
{
    plugin->library = look(f, plugin->library);
    if (plugin->library != NULL)
        plugin->library_node->text = plugin->library;
}

/* Schedules are made of schedules, each of which may be a library's. */
static void look_for_nested_libraries(const folders *f, const cse_yaml_node *node)
{
    for (int i = 0; node != NULL && i < node->count; i++) {
        cse_yaml_node *child = node->children[i];
        if (node->kind != CSE_YAML_MAPPING || strcmp(node->keys[i].text, "library") != 0)
            look_for_nested_libraries(f, child);
        else if (child->kind == CSE_YAML_SCALAR && !cse_yaml_is_null(child))
            child->text = look(f, child->text);
    }
}

cse_status cse_config_look_in_mounts(const cse_config_loading *loading, const cse_settings *trainer,
                                     const cse_plugin_list *sections,
                                     const cse_confinement *confinement)
{
    static const char *const loaders[] = { "train_dataloader", "val_dataloader" };
    folders data = { .setting = "mount_dirs", .use = CSE_PATH_INPUT, .confinement = confinement };
    folders code = { .setting = "python_paths",
                     .use = CSE_PATH_LIBRARY,
                     .confinement = confinement };
    const cse_settings *cluster =
        trainer != NULL ? cse_settings_section(trainer, "init.backend.cluster_config") : NULL;
    cse_yaml_node *defaults = NULL;
    if (cluster == NULL || cluster->faulty)
        return CSE_OK;
    CSE_TRY(
        cse_diagnostics_take(loading->diagnostics, read_defaults(loading, confinement, &defaults)));
    CSE_TRY(collect(loading, cluster, defaults, &data));
    CSE_TRY(collect(loading, cluster, defaults, &code));
    for (size_t i = 0; i < sizeof loaders / sizeof loaders[0]; i++) {
        const cse_plugin_list *list = &sections[cse_plugin_section_index(loaders[i])];
        for (int k = 0; k < list->count; k++)
            look_for_settings(&data, list->plugins[k].settings);
    }
    for (int s = 0; s < CSE_PLUGIN_SECTION_COUNT; s++)
        for (int k = 0; k < sections[s].count; k++)
            look_for_library(&code, &sections[s].plugins[k]);
    const cse_yaml_node *init = cse_yaml_find(cse_yaml_find(loading->root, "trainer"), "init");
    look_for_nested_libraries(&code, cse_yaml_find(init, "schedulers"));
    return CSE_OK;
}

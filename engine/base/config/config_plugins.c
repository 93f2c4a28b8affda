/* The sections of a configuration that configure plugins: which plugin each names, and its settings
 * checked against the plugin's table. Conditions that a plugin checks in its own code fail later,
 * when the run is set up. */
#include "engine/base/config/config_plugins.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/config/dataloader_table.h"
#include "engine/base/config/decay_schedules.h"
#include "engine/base/config/reference_names.h"
#include "engine/base/config/schedule_tags.h"
#include "engine/base/config/settings.h"
#include "engine/base/path.h"

typedef struct plugin_section {
    const char *name;            /* for cse_plugin_section_index */
    const char *parent, *key;    /* where it stands below "trainer" */
    const char *kind, *singular; /* "models", as `csengine list` calls them; "model" */
    const char *name_key;        /* the setting that names the plugin; NULL: {NAME: {settings}} */
    bool may_be_list;
} plugin_section;

#define INPUT "inputs", "input function", "data_processor"
static const plugin_section plugin_sections[CSE_PLUGIN_SECTION_COUNT] = {
    { "model", "init", "model", "models", "model", "name", false },
    { "optimizer", "init", "optimizer", "optimizers", "optimizer", NULL, false },
    { "objective", "init", "objective", "objectives", "objective", NULL, false },
    { "schedulers", "init", "schedulers", "schedules", "schedule", NULL, true },
    { "metrics", "init", "metrics", "metrics", "metric", NULL, true },
    { "callbacks", "init", "callbacks", "callbacks", "callback", NULL, true },
    { "loggers", "init", "loggers", "loggers", "logger", NULL, true },
    { "train_dataloader", "fit", "train_dataloader", INPUT, false },
    { "val_dataloader", "fit", "val_dataloader", INPUT, true },
    { "validate.val_dataloader", "validate", "val_dataloader", INPUT, true },
    { "validate_all.val_dataloaders", "validate_all", "val_dataloaders", INPUT, true },
};

int cse_plugin_section_index(const char *name)
{
    for (int i = 0; i < CSE_PLUGIN_SECTION_COUNT; i++)
        if (strcmp(plugin_sections[i].name, name) == 0)
            return i;
    fprintf(stderr, "csengine: internal error: \"%s\" is no section of plugins\n", name);
    abort();
}

/* ---- names ---- */

/* A text value of a plugin's section: its name or library. NULL when it is absent. */
static cse_status read_word(const cse_yaml_node *section, const char *key, const char *what,
                            const char **word)
{
    cse_yaml_node *node = cse_yaml_find(section, key);
    *word = NULL;
    if (node == NULL)
        return CSE_OK;
    if (node->kind != CSE_YAML_SCALAR || node->text[0] == '\0')
        return cse_fail_at(CSE_ERROR_AT("configuration: ", node->place), "%s: %s belongs here", key,
                           what);
    node->read = true;
    *word = node->text;
    return CSE_OK;
}

/* Sets the library only where its path is good. */
static cse_status read_library(cse_arena *arena, cse_yaml_node *section, cse_config_plugin *plugin)
{
    const char *written = NULL, *path = NULL;
    CSE_TRY(read_word(section, "library", "the path of a shared object", &written));
    if (written == NULL)
        return CSE_OK;
    cse_yaml_node *node = cse_yaml_find(section, "library");
    const char *problem = cse_path_expand(arena, written, &path);
    if (problem != NULL)
        return cse_fail_at(&(cse_error){ .status = CSE_CONFIG,
                                         .context = "configuration: ",
                                         .place = node->place,
                                         .hint = cse_path_hint },
                           "library: \"%.200s\" %s", written, problem);
    plugin->library = path;
    plugin->library_node = node;
    return CSE_OK;
}

/* {name: fc_mnist, ...}, {data_processor: idx_images, ...}, and, of every kind, {library: x.so,
 * name: sgd, ...}. The settings of a data loader hold its own name. */
static cse_status read_named(cse_arena *arena, const plugin_section *about, cse_yaml_node *section,
                             cse_config_plugin *plugin)
{
    static const char *const words[] = { "name", "library", NULL };
    const char *key = about->name_key != NULL ? about->name_key : "name";
    const cse_yaml_node *name = cse_yaml_find(section, key);
    if (name == NULL)
        return cse_fail_at(CSE_ERROR_AT("configuration: ", section->place),
                           "{%s: NAME, ...} belongs here; see `csengine list %s`", key,
                           about->kind);
    CSE_TRY(read_word(section, key, "a name", &plugin->name));
    plugin->place = name->place;
    plugin->tree = section;
    CSE_TRY(read_library(arena, section, plugin));
    if (strcmp(key, "name") == 0)
        plugin->tree = cse_yaml_without(arena, section, words);
    if (strcmp(about->kind, "schedules") == 0)
        cse_decay_schedule_rename(arena, &plugin->name, &plugin->tree);
    return CSE_OK;
}

/* The reference's forms of a learning rate: a number, and {scheduler: NAME, ...}. */
static bool read_learning_rate(cse_arena *arena, cse_yaml_node *section, cse_config_plugin *plugin)
{
    static const char *const name_keys[] = { "scheduler", "main_scheduler", NULL };
    cse_yaml_node *name = cse_yaml_find(section, "scheduler");
    double number;
    if (section->kind == CSE_YAML_SCALAR && cse_setting_number_read(section->text, &number)) {
        plugin->name = "ConstantLR";
        plugin->place = section->place;
        plugin->tree = cse_yaml_mapping_new(arena, section->place);
        cse_yaml_put(arena, plugin->tree, (cse_yaml_key){ "learning_rate", section->place },
                     section);
        return true;
    }
    if (name == NULL || name->kind != CSE_YAML_SCALAR || name->text[0] == '\0')
        return false;
    name->read = true;
    plugin->name = name->text;
    plugin->place = name->place;
    plugin->tree = cse_yaml_without(arena, section, name_keys);
    cse_decay_schedule_rename(arena, &plugin->name, &plugin->tree);
    return true;
}

/* What a section that has not one {NAME: {settings}} looks like. */
static cse_status reject_keyed(cse_arena *arena, const plugin_section *about,
                               const cse_yaml_node *section)
{
    const char *hint = NULL;
    for (int i = 0; section->kind == CSE_YAML_MAPPING && i < section->count && hint == NULL; i++) {
        hint = cse_reference_name_hint(section->keys[i].text);
        if (hint != NULL)
            hint = cse_arena_printf(arena, "%s: %s", section->keys[i].text, hint);
    }
    if (hint == NULL && section->kind == CSE_YAML_MAPPING && section->count > 1)
        hint = cse_arena_printf(arena,
                                "there are %d names: indent the settings below the one of the %s",
                                section->count, about->singular);
    return cse_fail_at(&(cse_error){ .status = CSE_CONFIG,
                                     .context = "configuration: ",
                                     .place = section->place,
                                     .hint = hint },
                       "%s: one {NAME: {settings}} belongs here; names: `csengine list %s`",
                       about->name, about->kind);
}

/* {SGD: {lr: 0.1}}, or the name alone. */
static cse_status read_keyed(cse_arena *arena, const plugin_section *about, cse_yaml_node *section,
                             cse_config_plugin *plugin)
{
    const bool is_schedule = strcmp(about->kind, "schedules") == 0;
    if (is_schedule && read_learning_rate(arena, section, plugin)) {
        plugin->tree = cse_schedule_without_tags(arena, plugin->tree);
        return CSE_OK;
    }
    if (section->kind == CSE_YAML_SCALAR && section->text[0] != '\0') {
        section->read = true;
        plugin->name = section->text;
        plugin->place = section->place;
        plugin->tree = cse_yaml_mapping_new(arena, section->place);
        return CSE_OK;
    }
    if (section->kind != CSE_YAML_MAPPING || section->count != 1 ||
        cse_reference_name_hint(section->keys[0].text) != NULL)
        return reject_keyed(arena, about, section);
    plugin->name = section->keys[0].text;
    plugin->place = section->keys[0].place;
    plugin->tree = section->children[0];
    if (is_schedule)
        plugin->tree = cse_schedule_without_tags(arena, plugin->tree);
    if (is_schedule)
        cse_decay_schedule_rename(arena, &plugin->name, &plugin->tree);
    return CSE_OK;
}

/* ---- settings ---- */

static const void *registry_of(const cse_kind *kinds, const char *name)
{
    while (kinds != NULL && kinds->name != NULL && strcmp(kinds->name, name) != 0)
        kinds++;
    return kinds != NULL ? kinds->table : NULL;
}

/* Checks the settings of a plugin whose descriptor is known. */
static cse_status check_settings(const cse_config_loading *loading, const plugin_section *about,
                                 cse_config_plugin *plugin)
{
    cse_arena *arena = loading->arena;
    const cse_configured_descriptor *descriptor = plugin->descriptor;
    plugin->name = descriptor->name;
    const cse_settings_expected expected = {
        .table = descriptor->settings,
        .subject = cse_arena_printf(arena, "%s %s", about->singular, descriptor->name),
        .diagnostics = loading->diagnostics,
    };
    cse_settings *settings = NULL;
    cse_status status =
        strcmp(about->kind, "inputs") == 0
            ? cse_dataloader_settings_check(arena, descriptor->settings, plugin->tree,
                                            loading->diagnostics, &settings)
            : cse_settings_check(arena, &expected, plugin->tree, &settings);
    plugin->settings = settings;
    return status;
}

/* A plugin in a user's library has no table before the library is loaded. What all data loaders
 * have is checked without it. */
static cse_status check_plugin(const cse_config_loading *loading, const plugin_section *about,
                               cse_config_plugin *plugin)
{
    cse_settings *common = NULL;
    const void *registry = registry_of(loading->kinds, about->kind);
    if (registry == NULL)
        return CSE_OK;
    if (plugin->library != NULL) {
        if (strcmp(about->kind, "inputs") == 0)
            CSE_TRY(cse_dataloader_common_check(loading->arena, plugin->tree, loading->diagnostics,
                                                &common));
        plugin->settings = common;
        return CSE_OK;
    }
    bool any_case = about->name_key == NULL && strcmp(about->kind, "loggers") != 0 &&
                    strcmp(about->kind, "callbacks") != 0;
    if ((any_case ? cse_registry_get_any_case : cse_registry_get)(
            registry, about->singular, plugin->name, &plugin->descriptor) != CSE_OK) {
        cse_error error = *cse_error_last();
        error.context = "configuration: ";
        error.place = plugin->place;
        return cse_diagnostics_take(loading->diagnostics, cse_fail_again(&error));
    }
    return check_settings(loading, about, plugin);
}

/* ---- sections ---- */

static cse_status read_plugin(const cse_config_loading *loading, const plugin_section *about,
                              cse_yaml_node *node, cse_config_plugin *plugin)
{
    const bool named = about->name_key != NULL || cse_yaml_find(node, "library") != NULL;
    cse_status status = (named ? read_named : read_keyed)(loading->arena, about, node, plugin);
    if (status != CSE_OK)
        return cse_diagnostics_take(loading->diagnostics, status);
    return check_plugin(loading, about, plugin);
}

cse_status cse_config_read_plugins(const cse_config_loading *loading,
                                   cse_plugin_list sections[CSE_PLUGIN_SECTION_COUNT])
{
    const cse_yaml_node *trainer = cse_yaml_find(loading->root, "trainer");
    for (int i = 0; i < CSE_PLUGIN_SECTION_COUNT; i++) {
        const plugin_section *about = &plugin_sections[i];
        cse_yaml_node *node = cse_yaml_find(cse_yaml_find(trainer, about->parent), about->key);
        if (node != NULL && cse_yaml_is_null(node))
            node->read = true; /* there is nothing more to read */
        if (node == NULL || cse_yaml_is_null(node))
            continue;
        bool is_list = about->may_be_list && node->kind == CSE_YAML_SEQUENCE;
        sections[i].count = is_list ? node->count : 1;
        sections[i].plugins = cse_arena_alloc(loading->arena, ((size_t)sections[i].count + 1) *
                                                                  sizeof *sections[i].plugins);
        for (int k = 0; k < sections[i].count; k++)
            CSE_TRY(read_plugin(loading, about, is_list ? node->children[k] : node,
                                &sections[i].plugins[k]));
    }
    return CSE_OK;
}

static cse_status load_plugin(const cse_config_loading *loading, const plugin_section *about,
                              cse_plugin_finder *find, cse_config_plugin *plugin)
{
    char kind[32];
    snprintf(kind, sizeof kind, "%.*s", (int)strlen(about->kind) - 1, about->kind);
    const cse_plugin_wanted wanted = { .kind = kind,
                                       .library = plugin->library,
                                       .name = plugin->name };
    if (find(&wanted, &plugin->descriptor, NULL) == CSE_OK)
        return check_settings(loading, about, plugin);
    cse_error error = *cse_error_last();
    error.context = "configuration: ";
    error.place = plugin->place;
    return cse_diagnostics_take(loading->diagnostics, cse_fail_again(&error));
}

cse_status cse_config_load_sections(const cse_config_loading *loading, cse_plugin_finder *find,
                                    const cse_plugin_list sections[CSE_PLUGIN_SECTION_COUNT])
{
    for (int i = 0; i < CSE_PLUGIN_SECTION_COUNT; i++)
        for (int k = 0; k < sections[i].count; k++) {
            cse_config_plugin *plugin = &sections[i].plugins[k];
            if (plugin->library != NULL && plugin->descriptor == NULL)
                CSE_TRY(load_plugin(loading, &plugin_sections[i], find, plugin));
        }
    return cse_diagnostics_end(loading->diagnostics);
}

/* The sections of a configuration that belong to plugins: which plugin each names, and its settings
 * against the plugin's own table. Tables only: what a plugin checks beyond its own is found when
 * the run is put together. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/config/config_parts.h"
#include "engine/config/dataloader_table.h"

typedef struct plugin_section {
    const char *name, *parent;
    const char *kind, *singular; /* "models", as `csengine list` calls them; "model" */
    const char *name_key;        /* the setting that names the plugin; NULL: {NAME: {settings}} */
    bool may_be_list;
} plugin_section;

static const plugin_section plugin_sections[CSE_PLUGIN_SECTION_COUNT] = {
    { "model", "init", "models", "model", "name", false },
    { "optimizer", "init", "optimizers", "optimizer", NULL, false },
    { "schedulers", "init", "schedules", "schedule", NULL, true },
    { "loggers", "init", "loggers", "logger", NULL, true },
    { "train_dataloader", "fit", "inputs", "input function", "data_processor", false },
    { "val_dataloader", "fit", "inputs", "input function", "data_processor", false },
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

/* A word of a plugin's section: its name, its library. NULL when it is not there. */
static cse_status read_word(const cse_yaml_node *section, const char *key, const char *what,
                            const char **word)
{
    cse_yaml_node *node = cse_yaml_find(section, key);
    *word = NULL;
    if (node == NULL)
        return CSE_OK;
    if (node->kind != CSE_YAML_SCALAR || node->text[0] == '\0')
        return cse_config_fail_at(node->place, "%s: %s belongs here", key, what);
    node->read = true;
    *word = node->text;
    return CSE_OK;
}

/* {name: fc_mnist, library: x.so, ...} and {data_processor: idx_images, ...}. */
static cse_status read_named(cse_arena *arena, const plugin_section *about, cse_yaml_node *section,
                             cse_config_plugin *plugin)
{
    static const char *const model_words[] = { "name", "library", NULL };
    const char *key = about->name_key;
    const cse_yaml_node *name = cse_yaml_find(section, key);
    if (name == NULL)
        return cse_config_fail_at(section->place,
                                  "{%s: NAME, ...} belongs here; see `csengine list %s`", key,
                                  about->kind);
    CSE_TRY(read_word(section, key, "a name", &plugin->name));
    plugin->place = name->place;
    plugin->tree = section;
    if (strcmp(about->kind, "models") != 0)
        return CSE_OK;
    CSE_TRY(read_word(section, "library", "the path of a shared object", &plugin->library));
    plugin->tree = cse_yaml_without(arena, section, model_words);
    return CSE_OK;
}

/* {SGD: {lr: 0.1}}, or the name alone. */
static cse_status read_keyed(cse_arena *arena, const plugin_section *about, cse_yaml_node *section,
                             cse_config_plugin *plugin)
{
    if (section->kind == CSE_YAML_SCALAR && section->text[0] != '\0') {
        section->read = true;
        plugin->name = section->text;
        plugin->place = section->place;
        plugin->tree = cse_yaml_mapping_new(arena, section->place);
        return CSE_OK;
    }
    if (section->kind != CSE_YAML_MAPPING || section->count != 1)
        return cse_config_fail_at(section->place,
                                  "%s: one {NAME: {settings}} belongs here; names: `csengine list "
                                  "%s`",
                                  about->name, about->kind);
    plugin->name = section->keys[0].text;
    plugin->place = section->keys[0].place;
    plugin->tree = section->children[0];
    return CSE_OK;
}

static cse_status read_section(cse_arena *arena, const plugin_section *about,
                               cse_yaml_node *section, cse_diagnostics *diagnostics,
                               cse_plugin_list *list)
{
    bool is_list = about->may_be_list && section->kind == CSE_YAML_SEQUENCE;
    int count = is_list ? section->count : 1;
    list->plugins = cse_arena_alloc(arena, ((size_t)count + 1) * sizeof *list->plugins);
    for (int i = 0; i < count; i++) {
        cse_yaml_node *node = is_list ? section->children[i] : section;
        cse_config_plugin *plugin = &list->plugins[i];
        cse_status status =
            (about->name_key != NULL ? read_named : read_keyed)(arena, about, node, plugin);
        if (status != CSE_OK)
            plugin->name = NULL;
        CSE_TRY(cse_diagnostics_take(diagnostics, status));
    }
    list->count = count;
    return CSE_OK;
}

cse_status cse_config_read_plugins(cse_config_tree *tree, cse_diagnostics *diagnostics,
                                   cse_plugin_list sections[CSE_PLUGIN_SECTION_COUNT])
{
    const cse_yaml_node *trainer = cse_yaml_find(tree->root, "trainer");
    for (int i = 0; i < CSE_PLUGIN_SECTION_COUNT; i++) {
        const plugin_section *about = &plugin_sections[i];
        cse_yaml_node *node = cse_yaml_find(cse_yaml_find(trainer, about->parent), about->name);
        if (node != NULL && !cse_yaml_is_null(node))
            CSE_TRY(read_section(tree->arena, about, node, diagnostics, &sections[i]));
    }
    return CSE_OK;
}

/* ---- settings ---- */

static const void *registry_of(const cse_kind *kinds, const char *name)
{
    while (kinds->name != NULL && strcmp(kinds->name, name) != 0)
        kinds++;
    return kinds->name != NULL ? kinds->table : NULL;
}

/* A plugin of a library of the user's own has a table once the library is loaded. */
static cse_status check_plugin(cse_arena *arena, const cse_kind *kinds, const plugin_section *about,
                               cse_config_plugin *plugin, cse_diagnostics *diagnostics)
{
    const void *registry = registry_of(kinds, about->kind);
    if (registry == NULL || plugin->name == NULL || plugin->library != NULL)
        return CSE_OK;
    cse_status status =
        cse_registry_get(registry, about->singular, plugin->name, &plugin->descriptor);
    if (status != CSE_OK) {
        cse_error error = *cse_error_last();
        error.context = "configuration: ";
        error.place = plugin->place;
        return cse_diagnostics_take(diagnostics, cse_fail_again(&error));
    }
    const cse_configured_descriptor *descriptor = plugin->descriptor;
    cse_settings *settings = NULL;
    if (strcmp(about->kind, "inputs") == 0)
        status = cse_dataloader_settings_check(arena, descriptor->settings, plugin->tree,
                                               diagnostics, &settings);
    else
        status = cse_settings_check(
            arena,
            &(cse_settings_expected){
                .table = descriptor->settings,
                .subject = cse_arena_printf(arena, "%s %s", about->singular, descriptor->name),
                .diagnostics = diagnostics },
            plugin->tree, &settings);
    plugin->settings = settings;
    return status;
}

cse_status cse_config_check_plugins(cse_arena *arena, const cse_kind *kinds,
                                    cse_diagnostics *diagnostics,
                                    cse_plugin_list sections[CSE_PLUGIN_SECTION_COUNT])
{
    for (int i = 0; i < CSE_PLUGIN_SECTION_COUNT; i++)
        for (int k = 0; k < sections[i].count; k++)
            CSE_TRY(check_plugin(arena, kinds, &plugin_sections[i], &sections[i].plugins[k],
                                 diagnostics));
    return CSE_OK;
}

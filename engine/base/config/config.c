/* Loading: file -> tree -> overrides -> checked settings -> plugins; and access to the result. */
#include "engine/base/config/config.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/config/callback_flags.h"
#include "engine/base/config/cluster_table.h"
#include "engine/base/config/config_mounts.h"
#include "engine/base/config/config_paths.h"
#include "engine/base/config/reference_defaults.h"
#include "engine/base/config/settings.h"

struct cse_config {
    cse_arena *arena;
    cse_yaml_node *root;
    const char *source;
    cse_settings *settings;
    cse_plugin_list sections[CSE_PLUGIN_SECTION_COUNT];
};

/* ---- loading ---- */

static cse_status read_text(cse_config_loading *loading, const cse_config_text *text)
{
    cse_status status = text->yaml == NULL
                            ? cse_yaml_parse_file(loading->arena, text->source, &loading->root)
                            : cse_yaml_parse(loading->arena, text->source, text->yaml,
                                             strlen(text->yaml), &loading->root);
    return status == CSE_OK ? CSE_OK : cse_fail_within(status, "configuration: ");
}

/* Before flags and --set are applied, which would make a mapping out of nothing. */
static cse_status check_root(const cse_yaml_node *root)
{
    if (root->kind == CSE_YAML_MAPPING)
        return CSE_OK;
    return cse_fail_at(&(cse_error){ .status = CSE_CONFIG,
                                     .context = "configuration: ",
                                     .place = root->place,
                                     .hint = "a configuration begins with \"trainer:\" and has "
                                             "trainer.init and trainer.fit" },
                       "%s",
                       cse_yaml_is_null(root) ? "there are no settings: the text is empty, or has "
                                                "comments only"
                                              : "a mapping of settings belongs here, \"name: "
                                                "value\"");
}

static cse_status check_tree(cse_config_loading *loading, const cse_config_text *text,
                             cse_config *config)
{
    cse_diagnostics *diagnostics = loading->diagnostics;
    const cse_settings_expected expected = { cse_config_table, "configuration", "", diagnostics,
                                             cse_config_table };
    cse_config_overrides_prevail(loading->arena, loading->root, text->overrides,
                                 text->override_count);
    for (int i = 0; i < text->override_count; i++)
        CSE_TRY(cse_diagnostics_take(
            diagnostics,
            cse_config_override_apply(loading->arena, &loading->root, &text->overrides[i])));
    CSE_TRY(cse_diagnostics_take(diagnostics,
                                 cse_config_apply_callback_flags(loading->arena, loading->root)));
    cse_yaml_node *trainer = cse_yaml_find(loading->root, "trainer");
    cse_config_take_defaults(loading->arena, trainer);
    CSE_TRY(cse_config_take_level(loading->arena, trainer, diagnostics));
    CSE_TRY(cse_settings_check(loading->arena, &expected, loading->root, &config->settings));
    CSE_TRY(cse_config_check_csx(loading->arena, trainer, diagnostics));
    CSE_TRY(cse_config_check_rules(cse_settings_section(config->settings, "trainer"), diagnostics));
    CSE_TRY(cse_config_read_plugins(loading, config->sections));
    CSE_TRY(cse_config_look_in_mounts(loading, cse_settings_section(config->settings, "trainer"),
                                      config->sections, text->confinement));
    CSE_TRY(
        cse_config_check_libraries(loading->arena, loading->root, text->confinement, diagnostics));
    return cse_config_check_paths(cse_settings_section(config->settings, "trainer"),
                                  config->sections, text->confinement, diagnostics);
}

cse_status cse_config_check(const cse_config_text *text, cse_diagnostics *diagnostics,
                            cse_config **config)
{
    *config = NULL;
    cse_arena *arena = cse_arena_new();
    cse_config *made = cse_arena_alloc(arena, sizeof *made);
    cse_config_loading loading = { .arena = arena,
                                   .kinds = text->kinds,
                                   .diagnostics = diagnostics };
    made->arena = arena;
    made->source = cse_arena_string(arena, text->source);
    cse_status status = read_text(&loading, text);
    if (status == CSE_OK)
        status = check_root(loading.root);
    if (status != CSE_OK)
        cse_diagnostics_take(diagnostics, status);
    else
        status = check_tree(&loading, text, made);
    made->root = loading.root;
    /* A check that collected errors reports the first of them, whatever ended it. */
    if (status == CSE_OK || status == CSE_CONFIG) {
        cse_status first = cse_diagnostics_end(diagnostics);
        status = first != CSE_OK ? first : status;
    }
    if (status != CSE_OK)
        cse_config_destroy(&made);
    *config = made;
    return status;
}

void cse_config_destroy(cse_config **config)
{
    if (*config == NULL)
        return;
    cse_arena *arena = (*config)->arena;
    cse_arena_destroy(&arena);
    *config = NULL;
}

bool cse_config_has_library(const cse_config *config)
{
    return cse_config_first_library(config->root) != NULL;
}

cse_status cse_config_load_plugins(const cse_config *config, cse_plugin_finder *find,
                                   cse_diagnostics *diagnostics)
{
    if (config == NULL)
        return CSE_OK;
    const cse_config_loading loading = { .arena = config->arena,
                                         .root = config->root,
                                         .diagnostics = diagnostics };
    CSE_TRY(cse_config_load_sections(&loading, find, config->sections));
    /* Their tables say now which settings are paths. */
    return cse_config_check_paths(cse_settings_section(config->settings, "trainer"),
                                  config->sections, cse_confinement_view(), diagnostics);
}

/* ---- reading ---- */

const cse_settings *cse_config_section_view(const cse_config *config, const char *section)
{
    return cse_settings_section(cse_settings_nested(config->settings, "trainer"), section);
}

int cse_config_plugin_count(const cse_config *config, const char *section)
{
    return config->sections[cse_plugin_section_index(section)].count;
}

const cse_config_plugin *cse_config_plugin_view(const cse_config *config, const char *section,
                                                int index)
{
    const cse_plugin_list *list = &config->sections[cse_plugin_section_index(section)];
    return index >= 0 && index < list->count ? &list->plugins[index] : NULL;
}

cse_config_start cse_config_start_from(const cse_config *config, const char **path)
{
    const cse_settings *fit = cse_config_section_view(config, "fit");
    const cse_settings *checkpoint = cse_config_section_view(config, "init.checkpoint");
    bool autoload = cse_settings_bool(checkpoint, "autoload_last_checkpoint");
    *path = cse_settings_text(fit, "ckpt_path");
    if (*path != NULL && strcmp(*path, "newest") == 0) {
        *path = NULL;
        return CSE_START_NEWEST;
    }
    if (*path != NULL)
        return CSE_START_FROM_PATH;
    return cse_settings_given(fit, "ckpt_path") || !autoload ? CSE_START_FRESH : CSE_START_NEWEST;
}

const char *cse_config_canonical(const cse_config *config)
{
    return cse_settings_canonical(config->settings);
}

void cse_config_effective(const cse_config *config, cse_text *text)
{
    cse_settings_effective(config->settings, text);
}

void cse_config_resolved(const cse_config *config, cse_text *yaml, cse_text *origins)
{
    cse_arena *arena = cse_arena_new();
    cse_yaml_print_block(cse_settings_tree(arena, config->settings), yaml);
    cse_settings_origins(config->settings, origins);
    cse_arena_destroy(&arena);
}

int cse_config_unread(const cse_config *config, cse_yaml_unread **list)
{
    return cse_yaml_list_unread(config->arena, config->root, list);
}

const cse_yaml_node *cse_config_root_view(const cse_config *config)
{
    return config->root;
}

cse_arena *cse_config_arena_view(const cse_config *config)
{
    return config->arena;
}

const char *cse_config_source(const cse_config *config)
{
    return config->source;
}

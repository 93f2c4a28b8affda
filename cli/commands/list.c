/* `csengine list`: lists the plugins of every kind, the commands, the passes and the settings; with
 * a plugin's name, its settings. A new plugin folder is listed without a change here. */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "cli/arguments/check_word.h"
#include "cli/arguments/command_line.h"
#include "cli/arguments/list_tables.h"
#include "cli/terminal/printing.h"
#include "cli/terminal/report.h"
#include "engine/base/config/settings.h"
#include "engine/base/library.h"
#include "engine/base/plugin_kinds.h"
#include "engine/base/text.h"
#include "engine/graph/passes/pass.h"
#include "run/job/kinds.h"

/* Kinds whose descriptors start with the members of cse_configured_descriptor. */
static const char *const kinds_with_settings[] = { "callbacks",  "inputs",   "loggers",
                                                   "metrics",    "models",   "objectives",
                                                   "optimizers", "schedules" };

/* One row of the output; texts may be NULL. */
typedef struct row {
    const char *name, *summary, *accepted, *default_value;
} row;

typedef struct listing {
    bool json, done; /* done: printed already */
    cse_list_form form;
    json_t *rows;
} listing;

static void add_json(json_t *object, const char *key, const char *value)
{
    if (value != NULL)
        json_object_set_new(object, key, json_string(value));
}

static void show(listing *list, row r)
{
    if (list->json) {
        json_t *object = json_object();
        add_json(object, "name", r.name);
        add_json(object, "accepted", r.accepted);
        add_json(object, "default", r.default_value);
        add_json(object, "summary", r.summary);
        json_array_append_new(list->rows, object);
    } else if (r.accepted != NULL) {
        cse_print("%s\n    %s\n    %s; default: %s\n", r.name, r.summary, r.accepted,
                  r.default_value != NULL ? r.default_value : "none, it must be given");
    } else {
        cse_print("%-24s %s\n", r.name, r.summary != NULL ? r.summary : "");
    }
}

static void show_settings(listing *list, const cse_setting *table, const char *prefix)
{
    for (; table != NULL && table->name != NULL; table++) {
        cse_text name = { 0 }, accepted = { 0 };
        cse_text_add(&name, "%s%s", prefix, table->name);
        if (table->type == CSE_SETTING_SETTINGS) {
            cse_text_add(&name, ".");
            show_settings(list, table->nested, name.data);
        } else {
            cse_setting_describe(table, &accepted);
            show(list, (row){ name.data, table->doc, accepted.data, table->default_value });
        }
        cse_text_clear(&name);
        cse_text_clear(&accepted);
    }
}

static bool has_settings(const char *kind)
{
    for (size_t i = 0; i < sizeof kinds_with_settings / sizeof kinds_with_settings[0]; i++)
        if (strcmp(kinds_with_settings[i], kind) == 0)
            return true;
    return false;
}

static void show_table(listing *list, const void *table)
{
    for (const cse_descriptor *const *d = table; *d != NULL; d++)
        show(list, (row){ (*d)->name, (*d)->summary, NULL, NULL });
}

static cse_status show_plugin(listing *list, const cse_kind *kind, const char *name)
{
    const void *plugin = NULL;
    /* The singular: the kind's name without the final s. */
    char singular[64];
    snprintf(singular, sizeof singular, "%.*s", (int)strlen(kind->name) - 1, kind->name);
    CSE_TRY(cse_registry_get(kind->table, singular, name, &plugin));
    if (!has_settings(kind->name)) {
        const cse_descriptor *descriptor = plugin;
        show(list, (row){ descriptor->name, descriptor->summary, NULL, NULL });
        return CSE_OK;
    }
    const cse_configured_descriptor *descriptor = plugin;
    if (!list->json)
        cse_print("%s: %s\n", descriptor->name, descriptor->summary);
    show_settings(list, descriptor->settings, "");
    return CSE_OK;
}

static void show_commands(listing *list)
{
    for (const cse_command *const *c = cse_commands; *c != NULL; c++)
        if (!(*c)->hidden)
            show(list, (row){ (*c)->name, (*c)->summary, NULL, NULL });
}

static void show_passes(listing *list)
{
    for (const cse_pass *pass = cse_passes; pass->name != NULL; pass++)
        show(list, (row){ pass->name, pass->summary, NULL, NULL });
}

static void show_kinds(listing *list)
{
    for (const cse_kind *kind = cse_kinds; kind->name != NULL; kind++)
        show(list, (row){ kind->name, "plugins", NULL, NULL });
    for (const cse_listed_table *table = cse_listed_tables; table->name != NULL; table++)
        show(list, (row){ table->name, table->summary, NULL, NULL });
}

static cse_status reject_kind(const char *name)
{
    const char *accepted[64];
    int count = 0;
    for (const cse_kind *kind = cse_kinds; kind->name != NULL && count < 50; kind++)
        accepted[count++] = kind->name;
    for (const cse_listed_table *t = cse_listed_tables; t->name != NULL && count < 63; t++)
        accepted[count++] = t->name;
    accepted[count] = NULL;
    return cse_check_word("list: unknown kind", name, accepted);
}

static void show_any(listing *list, const char *kind, const cse_descriptor *plugin)
{
    cse_text name = { 0 };
    cse_text_add(&name, "%s %s", kind, plugin->name);
    show(list, (row){ name.data, plugin->summary, NULL, NULL });
    cse_text_clear(&name);
}

/* Every plugin of a library, or those of one kind as if they were built in. */
static cse_status list_library(listing *list, const char *path, const cse_command_line *line)
{
    enum { MOST_PLUGINS = 1024 };
    const void *table[MOST_PLUGINS + 1];
    const char *kind = line->argument_count > 0 ? line->arguments[0] : NULL;
    const cse_plugin_kind *known = cse_plugin_kinds;
    const cse_library *library = NULL;
    int count = 0;
    while (kind != NULL && known->name != NULL && strcmp(known->plural, kind) != 0)
        known++;
    if (known->name == NULL)
        return cse_fail(CSE_USAGE, "list: a library has no %s", kind);
    CSE_TRY(cse_library_load(path, NULL, &library));
    for (const cse_plugin *p = library->plugins; p->kind != NULL && count < MOST_PLUGINS; p++) {
        const cse_descriptor *plugin = p->descriptor;
        if (kind == NULL)
            show_any(list, p->kind, plugin);
        else if (strcmp(p->kind, known->name) == 0)
            table[count++] = plugin;
    }
    table[count] = NULL;
    if (kind == NULL)
        return CSE_OK;
    if (line->argument_count > 1)
        return show_plugin(list, &(cse_kind){ kind, table }, line->arguments[1]);
    show_table(list, table);
    return CSE_OK;
}

static cse_status list_kind(listing *list, const cse_command_line *line)
{
    if (cse_option_value(line, "library") != NULL)
        return list_library(list, cse_option_value(line, "library"), line);
    const char *name = line->argument_count > 0 ? line->arguments[0] : NULL;
    const char *plugin = line->argument_count > 1 ? line->arguments[1] : NULL;
    if (name == NULL) {
        show_kinds(list);
        return CSE_OK;
    }
    for (const cse_kind *kind = cse_kinds; kind->name != NULL; kind++) {
        if (strcmp(kind->name, name) != 0)
            continue;
        if (plugin != NULL)
            return show_plugin(list, kind, plugin);
        show_table(list, kind->table);
        return CSE_OK;
    }
    if (plugin != NULL)
        return cse_fail(CSE_USAGE, "list: \"%s\" is one argument too many after %s", plugin, name);
    if (strcmp(name, "commands") == 0)
        show_commands(list);
    else if (strcmp(name, "passes") == 0)
        show_passes(list);
    else if (strcmp(name, "settings") == 0)
        show_settings(list, cse_config_table, "");
    else if (!cse_list_table(name, list->form))
        return reject_kind(name);
    else
        list->done = true;
    return CSE_OK;
}

static int run(const cse_command_line *line)
{
    listing list = { .json = cse_option_is_on(line, "json"), .rows = json_array() };
    list.form = list.json                            ? CSE_LIST_JSON
                : cse_option_is_on(line, "markdown") ? CSE_LIST_MARKDOWN
                                                     : CSE_LIST_TEXT;
    cse_status status = list_kind(&list, line);
    if (status == CSE_OK && list.json && !list.done) {
        json_dumpf(list.rows, stdout, JSON_INDENT(1));
        putchar('\n');
    }
    json_decref(list.rows);
    return cse_report(status);
}

static const cse_option options[] = {
    { "json", NULL, NULL, "a JSON array on stdout" },
    { "library", "PATH", NULL,
      "the plugins of a shared object instead of the built-in ones; loads it" },
    { "markdown", NULL, NULL, "states, phases, reasons, exit_codes: as a Markdown table" },
    { 0 },
};

static const cse_command_note examples[] = {
    { "list optimizers SGD", "the settings of an optimizer" },
    { "list --library ./plugins.so", "what a library of plugins has" },
    { 0 },
};

const cse_command cse_command_list = {
    .name = "list",
    .group = CSE_GROUP_LOOK,
    .summary = "lists the plugins of each kind, settings, states, exit codes",
    .arguments = "[KIND [NAME]]",
    .doc = "Without a kind it lists the kinds; with a plugin's name, its settings.",
    .options = options,
    .min_arguments = 0,
    .max_arguments = 2,
    .examples = examples,
    .run = run,
};

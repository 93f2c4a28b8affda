/* Walks the configuration's tables; where a plugin's settings stand, those of every plugin of the
 * kind are offered. */
#include "cli/completion/completion_settings.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"
#include "engine/base/config/config_table.h"
#include "engine/base/config/dataloader_table.h"
#include "engine/base/config/settings.h"
#include "engine/base/text.h"
#include "run/job/kinds.h"

/* One walk: offers the paths, or the values of the setting at `wanted`. */
typedef struct walk {
    cse_candidates *candidates;
    const char *wanted; /* NULL: paths are completed */
    bool full;          /* with "trainer.init." and "trainer.fit.", which may be left out */
} walk;

/* Where plugins' settings stand in the configuration. */
static const struct {
    const char *path, *kind;
    const char *name; /* the setting that names the plugin; NULL: a mapping under its name */
} slots[] = {
    { "trainer.init.model", "models", "name" },
    { "trainer.init.objective", "objectives", NULL },
    { "trainer.init.optimizer", "optimizers", NULL },
    { "trainer.fit.train_dataloader", "inputs", "data_processor" },
    { "trainer.fit.val_dataloader", "inputs", "data_processor" },
};

static const void *const *plugins_of(const char *kind)
{
    for (const cse_kind *k = cse_kinds; k->name != NULL; k++)
        if (strcmp(k->name, kind) == 0)
            return k->table;
    return NULL;
}

static const char *shown_path(const walk *w, const char *path)
{
    static const char *const omitted[] = { "trainer.init.", "trainer.fit." };
    for (size_t i = 0; !w->full && i < sizeof omitted / sizeof *omitted; i++)
        if (strncmp(path, omitted[i], strlen(omitted[i])) == 0)
            return path + strlen(omitted[i]);
    return path;
}

static void offer_values(const walk *w, const cse_setting *setting)
{
    cse_text prefix = { 0 };
    cse_text_add(&prefix, "%s=", w->wanted);
    if (setting->type == CSE_SETTING_BOOL)
        cse_candidate_choices(w->candidates, prefix.data, "true|false");
    else if (setting->choices != NULL)
        cse_candidate_choices(w->candidates, prefix.data, setting->choices);
    if (setting->default_value != NULL && strcmp(setting->default_value, "null") == 0)
        cse_candidate_choices(w->candidates, prefix.data, "null");
    cse_text_clear(&prefix);
}

static void offer(const walk *w, const char *path, const cse_setting *setting)
{
    const char *shown = shown_path(w, path);
    if (w->wanted == NULL) {
        cse_text word = { 0 };
        cse_text_add(&word, "%s=", shown);
        cse_candidate(w->candidates, word.data, setting->doc);
        cse_text_clear(&word);
    } else if (strcmp(w->wanted, shown) == 0) {
        offer_values(w, setting);
    }
}

static void walk_table(const walk *w, const cse_setting *table, const char *prefix);

/* The names of the plugins as values, and the settings of each. */
static void walk_plugins(const walk *w, const char *path, size_t slot)
{
    const char *named_by = slots[slot].name;
    cse_text prefix = { 0 }, names = { 0 };
    const void *const *table = plugins_of(slots[slot].kind);
    for (; table != NULL && *table != NULL; table++) {
        const cse_configured_descriptor *plugin = *table;
        cse_text_add(&names, "%s%s", names.size > 0 ? "|" : "", plugin->name);
        prefix.size = 0;
        cse_text_add(&prefix, "%s.%s%s", path, named_by != NULL ? "" : plugin->name,
                     named_by != NULL ? "" : ".");
        if (plugin->settings != NULL)
            walk_table(w, plugin->settings, prefix.data);
    }
    if (named_by != NULL) {
        const cse_setting setting = { .name = named_by,
                                      .type = CSE_SETTING_CHOICE,
                                      .choices = names.data,
                                      .doc = "name of the plugin" };
        prefix.size = 0;
        cse_text_add(&prefix, "%s.%s", path, named_by);
        offer(w, prefix.data, &setting);
    }
    if (strcmp(slots[slot].kind, "inputs") == 0) {
        prefix.size = 0;
        cse_text_add(&prefix, "%s.", path);
        walk_table(w, cse_dataloader_settings, prefix.data);
    }
    cse_text_clear(&prefix);
    cse_text_clear(&names);
}

static void walk_table(const walk *w, const cse_setting *table, const char *prefix)
{
    for (; table != NULL && table->name != NULL; table++) {
        cse_text path = { 0 };
        bool plugins = false;
        cse_text_add(&path, "%s%s", prefix, table->name);
        for (size_t i = 0; i < sizeof slots / sizeof *slots; i++)
            if (strcmp(slots[i].path, path.data) == 0) {
                walk_plugins(w, path.data, i);
                plugins = true;
            }
        if (!plugins && table->type != CSE_SETTING_SETTINGS) {
            offer(w, path.data, table);
        } else if (!plugins) {
            cse_text_add(&path, ".");
            walk_table(w, table->nested, path.data);
        }
        cse_text_clear(&path);
    }
}

void cse_complete_setting(cse_candidates *candidates)
{
    const char *begun = candidates->begun, *equals = strchr(begun, '=');
    char *wanted = equals != NULL ? strndup(begun, (size_t)(equals - begun)) : NULL;
    const walk w = { .candidates = candidates,
                     .wanted = wanted,
                     .full = strncmp(begun, "trainer.", 8) == 0 };
    walk_table(&w, cse_config_table, "");
    free(wanted);
}

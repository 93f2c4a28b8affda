/* Values of the command line that replace those of the file.
 *
 * They change the tree before it is checked, so that they follow the same rules and give the same
 * messages as values in the file. */
#include "engine/base/config/config_overrides.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/config/config_table.h"
#include "engine/base/config/settings.h"

static const cse_setting *nested_of(const cse_setting *table, const char *name)
{
    while (strcmp(table->name, name) != 0)
        table++;
    return table->nested;
}

/* The path with "trainer.init." or "trainer.fit." where it was left out. */
static char *full_path(cse_arena *arena, const char *path)
{
    const cse_setting *trainer = nested_of(cse_config_table, "trainer");
    char *first = cse_arena_string(arena, path);
    first[strcspn(first, ".")] = '\0';
    if (cse_setting_table_has(trainer, first))
        return cse_arena_printf(arena, "trainer.%s", path);
    if (cse_setting_table_has(nested_of(trainer, "init"), first))
        return cse_arena_printf(arena, "trainer.init.%s", path);
    if (cse_setting_table_has(nested_of(trainer, "fit"), first))
        return cse_arena_printf(arena, "trainer.fit.%s", path);
    return cse_arena_string(arena, path);
}

const cse_setting *cse_config_setting_find(const char *path)
{
    const cse_setting *table = cse_config_table, *setting = NULL;
    cse_arena *arena = cse_arena_new();
    char *rest = full_path(arena, path);
    for (char *name = strsep(&rest, "."); name != NULL; name = strsep(&rest, ".")) {
        setting = table;
        while (setting != NULL && setting->name != NULL && strcmp(setting->name, name) != 0)
            setting++;
        if (setting == NULL || setting->name == NULL) {
            setting = NULL;
            break;
        }
        table = setting->nested;
    }
    cse_arena_destroy(&arena);
    return setting;
}

static cse_status parse_override(cse_arena *arena, const cse_config_override *override,
                                 cse_yaml_node **value)
{
    if (override->literal) {
        const cse_place place = { cse_arena_string(arena, override->origin), 0, 0 };
        *value = cse_yaml_scalar_new(arena, place, override->value);
        return CSE_OK;
    }
    cse_status status =
        cse_yaml_parse(arena, override->origin, override->value, strlen(override->value), value);
    if (status != CSE_OK)
        return cse_fail_within(status, "configuration: ");
    if ((*value)->kind == CSE_YAML_SCALAR)
        (*value)->place.line = 0;
    return CSE_OK;
}

/* The slot of an entry of a list. */
static cse_status find_entry(const cse_yaml_node *list, const char *index, cse_place place,
                             cse_yaml_node ***slot)
{
    char *end = NULL;
    long i = strtol(index, &end, 10);
    if (*index == '\0' || *end != '\0' || i < 0 || i >= list->count)
        return cse_fail_at(CSE_ERROR_AT("configuration: ", place),
                           "\"%s\" is no entry of that list; accepted: 0 to %d", index,
                           list->count - 1);
    *slot = &list->children[i];
    return CSE_OK;
}

/* The slot that one name of a path leads to; added where a mapping lacks it. A section of the
 * engine that the file lacks, or has empty, is lacking in the file, not in the flag. */
static cse_status step_into(cse_arena *arena, cse_yaml_node *parent, const char *name,
                            cse_place place, cse_yaml_node ***slot)
{
    bool is_section =
        strcmp(name, "trainer") == 0 || strcmp(name, "init") == 0 || strcmp(name, "fit") == 0;
    if (parent->kind == CSE_YAML_SEQUENCE)
        return find_entry(parent, name, place, slot);
    cse_yaml_node *child = cse_yaml_find(parent, name);
    if (child == NULL)
        cse_yaml_put(arena, parent, (cse_yaml_key){ name, place },
                     cse_yaml_mapping_new(arena, is_section ? parent->place : place));
    for (int i = 0; i < parent->count; i++)
        if (strcmp(parent->keys[i].text, name) == 0)
            *slot = &parent->children[i];
    return CSE_OK;
}

cse_status cse_config_override_apply(cse_arena *arena, cse_yaml_node **root,
                                     const cse_config_override *override)
{
    cse_yaml_node *value = NULL;
    CSE_TRY(parse_override(arena, override, &value));
    cse_place place = { .source = cse_arena_string(arena, override->origin) };
    cse_yaml_node **slot = root;
    char *rest = full_path(arena, override->path);
    for (char *name = strsep(&rest, "."); name != NULL; name = strsep(&rest, ".")) {
        if (*name == '\0')
            return cse_fail_at(CSE_ERROR_AT("configuration: ", place),
                               "a name is empty; write a.b.c=value");
        if (cse_yaml_is_null(*slot))
            *slot = cse_yaml_mapping_new(arena, (*slot)->place);
        if ((*slot)->kind == CSE_YAML_SCALAR)
            return cse_fail_at(CSE_ERROR_AT("configuration: ", place),
                               "\"%s\" cannot be set inside of a single value", name);
        CSE_TRY(step_into(arena, *slot, name, place, &slot));
    }
    *slot = value;
    return CSE_OK;
}

/* ---- opposites ---- */

enum { MOST_OPPOSITES = 4 };

/* Settings of one mapping of which at most one decides. */
typedef struct opposites {
    const char *section; /* pattern of the mapping's path */
    const char *names[MOST_OPPOSITES];
    const char *companion_of, *companion; /* the second has no effect without the first */
} opposites;

static const opposites all_opposites[] = {
    { "trainer.init.loop",
      { "num_steps", "num_epochs", "max_steps" },
      "num_epochs",
      "steps_per_epoch" },
    { "trainer.init.precision", { "max_gradient_norm", "max_gradient_value" }, NULL, NULL },
    { "trainer.init.backend", { "compile_only", "validate_only" }, NULL, NULL },
    { "trainer.init.optimizer.*", { "lr", "learning_rate" }, NULL, NULL },
};

/* null and false take a setting back, and replace nothing. */
static bool sets_something(cse_arena *arena, const cse_config_override *override)
{
    const cse_place nowhere = { NULL, 0, 0 };
    const cse_yaml_node *value = cse_yaml_literal(arena, nowhere, override->value);
    return value->kind != CSE_YAML_SCALAR ||
           (!cse_yaml_is_null(value) && strcmp(value->text, "false") != 0);
}

static bool is_given(cse_arena *arena, const cse_config_override *overrides, int count,
                     const char *path)
{
    for (int i = 0; i < count; i++)
        if (strcmp(full_path(arena, overrides[i].path), path) == 0)
            return true;
    return false;
}

static cse_yaml_node *find_mapping(cse_arena *arena, cse_yaml_node *root, const char *path)
{
    char *rest = cse_arena_string(arena, path);
    for (char *name = strsep(&rest, "."); name != NULL && root != NULL; name = strsep(&rest, "."))
        root = cse_yaml_find(root, name);
    return root != NULL && root->kind == CSE_YAML_MAPPING ? root : NULL;
}

/* The row that has the setting `name` of the mapping at `section`; NULL for none. */
static const opposites *opposites_of(const char *section, const char *name)
{
    for (size_t i = 0; i < sizeof all_opposites / sizeof *all_opposites; i++)
        for (int n = 0; n < MOST_OPPOSITES && all_opposites[i].names[n] != NULL; n++)
            if (strcmp(all_opposites[i].names[n], name) == 0 &&
                fnmatch(all_opposites[i].section, section, 0) == 0)
                return &all_opposites[i];
    return NULL;
}

void cse_config_overrides_prevail(cse_arena *arena, cse_yaml_node *root,
                                  const cse_config_override *overrides, int count)
{
    for (int i = 0; i < count; i++) {
        char *section = full_path(arena, overrides[i].path), *name = strrchr(section, '.');
        if (name == NULL || !sets_something(arena, &overrides[i]))
            continue;
        *name++ = '\0';
        const opposites *o = opposites_of(section, name);
        cse_yaml_node *mapping = find_mapping(arena, root, section);
        for (int n = 0; o != NULL && mapping != NULL && n < MOST_OPPOSITES; n++) {
            if (o->names[n] == NULL ||
                is_given(arena, overrides, count,
                         cse_arena_printf(arena, "%s.%s", section, o->names[n])))
                continue;
            cse_yaml_remove(mapping, o->names[n]);
            if (o->companion_of != NULL && strcmp(o->companion_of, o->names[n]) == 0)
                cse_yaml_remove(mapping, o->companion);
        }
    }
}

/* Flags of cstorch.backends.csx stand in the tree of a configuration as they were written: dotted
 * names, nested mappings, or both. */
#include <string.h>

#include "engine/base/config/cluster_table.h"
#include "engine/base/config/settings.h"

static const char csx[] = "init.backend.csx.";
static const char optimization_level[] = "precision.optimization_level";
static const char dotted_csx[] = "csx.";

/* The mapping at a path of one or two names; NULL where there is none. */
static cse_yaml_node *mapping_at(const cse_yaml_node *node, const char *const *names)
{
    cse_yaml_node *found = (cse_yaml_node *)(uintptr_t)node;
    for (; *names != NULL && found != NULL; names++)
        found = cse_yaml_find(found, *names);
    return found != NULL && found->kind == CSE_YAML_MAPPING ? found : NULL;
}

static cse_yaml_node *backend_of(const cse_yaml_node *trainer)
{
    return mapping_at(trainer, (const char *const[]){ "init", "backend", NULL });
}

/* {csx.debug.ini: x} becomes {csx: {debug.ini: x}}. */
static void gather(cse_arena *arena, cse_yaml_node *backend)
{
    for (int i = 0; i < backend->count; i++) {
        const cse_yaml_key key = backend->keys[i];
        cse_yaml_node *value = backend->children[i], *flags = cse_yaml_find(backend, "csx");
        if (strncmp(key.text, dotted_csx, sizeof dotted_csx - 1) != 0)
            continue;
        if (flags != NULL && flags->kind != CSE_YAML_MAPPING)
            return; /* the check tells it */
        cse_yaml_remove(backend, key.text);
        if (flags == NULL) {
            flags = cse_yaml_mapping_new(arena, key.place);
            cse_yaml_put(arena, backend, (cse_yaml_key){ "csx", key.place }, flags);
        }
        cse_yaml_put(arena, flags, (cse_yaml_key){ key.text + sizeof dotted_csx - 1, key.place },
                     value);
        i--;
    }
}

/* ---- the level ---- */

/* The value of a flag below `node`, whose own name is `prefix`. */
static cse_yaml_node *find_flag(const cse_yaml_node *node, const char *name)
{
    for (int i = 0; node != NULL && node->kind == CSE_YAML_MAPPING && i < node->count; i++) {
        const char *key = node->keys[i].text;
        const size_t length = strlen(key);
        if (strcmp(key, name) == 0)
            return node->children[i];
        if (strncmp(key, name, length) == 0 && name[length] == '.') {
            cse_yaml_node *found = find_flag(node->children[i], name + length + 1);
            if (found != NULL)
                return found;
        }
    }
    return NULL;
}

/* Without a 16-bit format there is nothing that a level permits. */
static cse_status put_level(cse_arena *arena, const cse_yaml_node *init, cse_yaml_node *level)
{
    static const char name[] = "precision_opt_level";
    cse_yaml_node *precision = mapping_at(init, (const char *const[]){ "precision", NULL });
    const cse_yaml_node *type = cse_yaml_find(precision, "fp16_type");
    const cse_yaml_node *given = cse_yaml_find(precision, name);
    if (type == NULL || cse_yaml_is_null(type) || level->kind != CSE_YAML_SCALAR)
        return CSE_OK;
    if (given == NULL) {
        cse_yaml_put(arena, precision, (cse_yaml_key){ name, level->place }, level);
        return CSE_OK;
    }
    level->read = true;
    if (given->kind != CSE_YAML_SCALAR || strcmp(given->text, level->text) == 0)
        return CSE_OK;
    return cse_fail_at(CSE_ERROR_AT("configuration: ", level->place),
                       "the precision optimization level is %s here and %s at %s; keep one",
                       level->text, given->text, cse_yaml_place_text(arena, given->place));
}

cse_status cse_config_take_level(cse_arena *arena, cse_yaml_node *trainer,
                                 cse_diagnostics *diagnostics)
{
    const cse_yaml_node *init = cse_yaml_find(trainer, "init");
    cse_yaml_node *backend = backend_of(trainer);
    if (backend == NULL)
        return CSE_OK;
    gather(arena, backend);
    cse_yaml_node *levels[] = { cse_yaml_find(cse_yaml_find(backend, "cluster_config"),
                                              "precision_opt_level"),
                                find_flag(cse_yaml_find(backend, "csx"), optimization_level) };
    for (int i = 0; i < 2; i++)
        if (levels[i] != NULL && !cse_yaml_is_null(levels[i]))
            CSE_TRY(cse_diagnostics_take(diagnostics, put_level(arena, init, levels[i])));
    return CSE_OK;
}

/* ---- the check ---- */

/* Whether a name is that of a flag, or of a group of flags. */
static bool is_flag(const char *path, bool *group)
{
    const size_t length = strlen(path);
    *group = false;
    if (strcmp(path, optimization_level) == 0)
        return true;
    for (int i = 0; cse_config_hint_at(i) != NULL; i++) {
        const char *hint = cse_config_hint_at(i)->path;
        if (strncmp(hint, csx, sizeof csx - 1) != 0)
            continue;
        hint += sizeof csx - 1;
        if (strcmp(hint, path) == 0)
            return true;
        *group = *group || (strncmp(hint, path, length) == 0 && hint[length] == '.');
    }
    *group = *group || strcmp(path, "precision") == 0;
    return false;
}

static cse_status check_flags(cse_arena *arena, const cse_yaml_node *node, const char *prefix,
                              cse_diagnostics *diagnostics)
{
    for (int i = 0; i < node->count; i++) {
        const char *path = cse_arena_printf(arena, "%s%s", prefix, node->keys[i].text);
        bool group;
        if (is_flag(path, &group))
            continue;
        cse_status status = CSE_OK;
        if (group && node->children[i]->kind == CSE_YAML_MAPPING)
            status = check_flags(arena, node->children[i], cse_arena_printf(arena, "%s.", path),
                                 diagnostics);
        else
            status = cse_diagnostics_take(
                diagnostics, cse_fail_at(CSE_ERROR_AT("configuration: ", node->keys[i].place),
                                         "unknown flag \"trainer.init.backend.csx.%.80s\"; "
                                         "accepted: %s and those of `csengine list hints`",
                                         path, optimization_level));
        CSE_TRY(status);
    }
    return CSE_OK;
}

cse_status cse_config_check_csx(cse_arena *arena, const cse_yaml_node *trainer,
                                cse_diagnostics *diagnostics)
{
    const cse_yaml_node *flags = cse_yaml_find(backend_of(trainer), "csx");
    if (flags == NULL || cse_yaml_is_null(flags))
        return CSE_OK;
    if (flags->kind == CSE_YAML_MAPPING)
        return check_flags(arena, flags, "", diagnostics);
    return cse_diagnostics_take(diagnostics,
                                cse_fail_at(CSE_ERROR_AT("configuration: ", flags->place),
                                            "trainer.init.backend.csx: a mapping of flags belongs "
                                            "here, \"debug.ini: value\""));
}

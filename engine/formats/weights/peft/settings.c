/* Ranks and scales become those of whole names of modules, so that no expression is left. */
#include "engine/formats/weights/peft/settings.h"

#include <inttypes.h>
#include <string.h>

#include "engine/base/error.h"
#include "engine/formats/weights/peft/folder.h"

static const char path_key[] = "path";

typedef struct resolving {
    cse_arena *arena;
    cse_place place;
    cse_yaml_node *to;
} resolving;

static void put(const resolving *r, const char *key, cse_yaml_node *value)
{
    cse_yaml_put(r->arena, r->to, (cse_yaml_key){ .text = key, .place = r->place }, value);
}

static void put_text(const resolving *r, const char *key, const char *text)
{
    put(r, key, cse_yaml_scalar_new(r->arena, r->place, text));
}

static const char *number(cse_arena *arena, double value)
{
    return cse_arena_printf(arena, "%.17g", value);
}

/* The module with its first letters as they are in an expression. */
static const char *as_expression(cse_arena *arena, const char *name)
{
    char *text = cse_arena_alloc(arena, 2 * strlen(name) + 1);
    size_t at = 0;
    for (const char *c = name; *c != '\0'; c++) {
        if (strchr(".^$*+?()[]{}\\|", *c) != NULL)
            text[at++] = '\\';
        text[at++] = *c;
    }
    text[at] = '\0';
    return text;
}

static void put_modules(const resolving *r, const cse_peft_folder *folder)
{
    cse_yaml_node *targets = cse_yaml_sequence_new(r->arena, r->place);
    cse_yaml_node *ranks = cse_yaml_mapping_new(r->arena, r->place);
    cse_yaml_node *alphas = cse_yaml_mapping_new(r->arena, r->place);
    for (int i = 0; i < folder->module_count; i++) {
        const cse_peft_module *m = &folder->modules[i];
        const cse_yaml_key key = { .text = as_expression(r->arena, m->name), .place = r->place };
        const double alpha = cse_peft_config_alpha(&folder->config, m->name);
        cse_yaml_append(r->arena, targets, cse_yaml_scalar_new(r->arena, r->place, m->name));
        if (m->rank != folder->config.rank)
            cse_yaml_put(r->arena, ranks, key,
                         cse_yaml_scalar_new(r->arena, r->place,
                                             cse_arena_printf(r->arena, "%" PRId64, m->rank)));
        if (alpha != folder->config.alpha)
            cse_yaml_put(r->arena, alphas, key,
                         cse_yaml_scalar_new(r->arena, r->place, number(r->arena, alpha)));
    }
    put(r, "target_modules", targets);
    put(r, "rank_pattern", ranks);
    put(r, "alpha_pattern", alphas);
}

/* Modules that were trained as they are; biases of `bias` are not among them. */
static void put_saved(const resolving *r, const cse_peft_folder *folder)
{
    cse_yaml_node *saved = cse_yaml_sequence_new(r->arena, r->place);
    const char *before = "";
    for (int i = 0; i < folder->saved_count; i++) {
        const char *name = folder->saved[i].name, *dot = strrchr(name, '.');
        const char *module = cse_arena_printf(
            r->arena, "%.*s", (int)(dot != NULL ? dot - name : (ptrdiff_t)strlen(name)), name);
        const bool is_bias = dot != NULL && strcmp(dot, ".bias") == 0;
        if (strcmp(module, before) == 0 || (is_bias && strcmp(folder->config.bias, "none") != 0))
            continue;
        cse_yaml_append(r->arena, saved, cse_yaml_scalar_new(r->arena, r->place, module));
        before = module;
    }
    if (saved->count > 0)
        put(r, "modules_to_save", saved);
}

static cse_status check_trained(const cse_peft_folder *folder)
{
    for (int i = 0; i < folder->module_count; i++)
        if (folder->modules[i].is_table)
            return cse_fail(CSE_DATA,
                            "%s: has factors of the embeddings '%s', which are added to weights "
                            "(fit.adapter), and not trained",
                            folder->path, folder->modules[i].name);
    return CSE_OK;
}

/* What training alone asks for may be given beside the path. */
static cse_status put_given(const resolving *r, const cse_yaml_node *given)
{
    static const char *const accepted[] = { "path", "peft_type", "lora_dropout",
                                            "loraplus_lr_ratio" };
    for (int i = 0; i < given->count; i++) {
        bool good = false;
        for (size_t k = 0; k < sizeof accepted / sizeof accepted[0]; k++)
            good = good || strcmp(given->keys[i].text, accepted[k]) == 0;
        if (!good) {
            const cse_error error = { .status = CSE_CONFIG,
                                      .place = given->keys[i].place,
                                      .accepted = "accepted beside path: lora_dropout and "
                                                  "loraplus_lr_ratio" };
            return cse_fail_at(&error, "adapters: %.80s stands in the folder of path already",
                               given->keys[i].text);
        }
        cse_yaml_put(r->arena, r->to, given->keys[i], given->children[i]);
    }
    return CSE_OK;
}

static cse_status resolve_one(cse_arena *arena, cse_yaml_node *given, cse_yaml_node *path,
                              cse_yaml_node **resolved)
{
    cse_peft_folder *folder = NULL;
    given->read = true;
    const resolving r = { arena, given->place, cse_yaml_mapping_new(arena, given->place) };
    cse_status status = cse_peft_folder_open(path->text, &folder);
    if (status == CSE_OK)
        status = check_trained(folder);
    if (status == CSE_OK) {
        const cse_peft_config *c = &folder->config;
        put_text(&r, "r", cse_arena_printf(arena, "%" PRId64, c->rank));
        put_text(&r, "lora_alpha", number(arena, c->alpha));
        put_text(&r, "lora_dropout", number(arena, c->dropout));
        put_text(&r, "use_rslora", c->use_rslora ? "true" : "false");
        put_text(&r, "use_dora", c->use_dora ? "true" : "false");
        put_text(&r, "bias", c->bias);
        put_modules(&r, folder);
        put_saved(&r, folder);
        status = put_given(&r, given);
    }
    cse_peft_folder_close(&folder);
    *resolved = r.to;
    return status;
}

static cse_yaml_node *path_of(const cse_yaml_node *adapter)
{
    cse_yaml_node *path =
        adapter->kind == CSE_YAML_MAPPING ? cse_yaml_find(adapter, path_key) : NULL;
    return path != NULL && path->kind == CSE_YAML_SCALAR && !cse_yaml_is_null(path) ? path : NULL;
}

cse_status cse_peft_resolve(cse_arena *arena, cse_yaml_node *adapters, cse_yaml_node **resolved)
{
    *resolved = adapters;
    if (adapters == NULL || adapters->kind != CSE_YAML_MAPPING)
        return CSE_OK;
    cse_yaml_node *section = cse_yaml_mapping_new(arena, adapters->place);
    adapters->read = true;
    for (int i = 0; i < adapters->count; i++) {
        cse_yaml_node *one = adapters->children[i], *path = path_of(one);
        if (path != NULL)
            CSE_TRY(resolve_one(arena, one, path, &one));
        cse_yaml_put(arena, section, adapters->keys[i], one);
    }
    *resolved = section;
    return CSE_OK;
}

cse_yaml_node *cse_peft_without_paths(cse_arena *arena, const cse_yaml_node *adapters)
{
    static const char *const paths[] = { path_key, NULL };
    cse_yaml_node *section = cse_yaml_mapping_new(arena, adapters->place);
    for (int i = 0; adapters->kind == CSE_YAML_MAPPING && i < adapters->count; i++)
        cse_yaml_put(arena, section, adapters->keys[i],
                     adapters->children[i]->kind == CSE_YAML_MAPPING
                         ? cse_yaml_without(arena, adapters->children[i], paths)
                         : adapters->children[i]);
    return section;
}

/* The settings of a configuration that can change a bit of a step. */
#include <string.h>

#include "engine/base/config/config.h"
#include "engine/base/config/settings.h"

/* Where a run happens, how long it lasts and what it leaves changes no bit of a step. */
static const char *const without_effect[] = { "backend", "model_dir", "loop",         "checkpoint",
                                              "logging", "loggers",   "callbacks",    "numerics",
                                              "metrics", "samples",   "step_digests", "alerts",
                                              "states",  NULL };
/* Nor does what memory a step takes, though its graph is another one. */
static const char *const of_memory[] = { "recompute", "memory_limit", "weights_in_memory", NULL };
/* A callback that is a setting of the training. */
static const char changing_callback[] = "SelectiveGrad";
/* It is compared by itself. */
static const char *const seed[] = { "seed", NULL };
static const char *const places[] = { "path", "data_dir", NULL };
/* Which code a library holds is known by the step graph and the data. */
static const char *const library[] = { "library", NULL };

/* ---- one setting ---- */

static bool begins_with(const char *path, const char *word)
{
    return strncmp(path, word, strlen(word)) == 0;
}

/* Whether the path is of one of these sections. */
static bool is_of(const char *path, const char *const *sections)
{
    const size_t length = strcspn(path, ".");
    for (; *sections != NULL; sections++)
        if (strlen(*sections) == length && strncmp(*sections, path, length) == 0)
            return true;
    return false;
}

bool cse_setting_changes_bits(const char *path)
{
    path += begins_with(path, "trainer.") ? strlen("trainer.") : 0;
    if (begins_with(path, "validate") || begins_with(path, "fit.val_data") ||
        begins_with(path, "fit.ckpt_path"))
        return false;
    if (!begins_with(path, "init."))
        return true;
    path += strlen("init.");
    if (begins_with(path, "callbacks"))
        return strstr(path, changing_callback) != NULL;
    return !is_of(path, without_effect) && !is_of(path, of_memory);
}

/* ---- all of a configuration ---- */

static void replace(cse_arena *arena, cse_yaml_node *mapping, const char *key,
                    const char *const *left_out)
{
    cse_yaml_node *child = mapping != NULL ? cse_yaml_find(mapping, key) : NULL;
    if (child != NULL && child->kind == CSE_YAML_MAPPING)
        cse_yaml_put(arena, mapping, (cse_yaml_key){ .text = key },
                     cse_yaml_without(arena, child, left_out));
}

/* A copy in which no library is named. */
static cse_yaml_node *without_libraries(cse_arena *arena, const cse_yaml_node *node)
{
    cse_yaml_node *copy = cse_arena_alloc(arena, sizeof *copy);
    *copy = *node;
    if (node->kind == CSE_YAML_SCALAR)
        return copy;
    if (node->kind == CSE_YAML_MAPPING)
        *copy = *cse_yaml_without(arena, node, library);
    cse_yaml_node **children = cse_arena_alloc(arena, ((size_t)copy->count + 1) * sizeof *children);
    for (int i = 0; i < copy->count; i++)
        children[i] = without_libraries(arena, copy->children[i]);
    copy->children = children;
    copy->capacity = copy->count;
    return copy;
}

/* Those that change a bit, as a list; NULL: none does. */
static cse_yaml_node *changing_callbacks(cse_arena *arena, const cse_yaml_node *trainer)
{
    const cse_yaml_node *init = trainer != NULL ? cse_yaml_find(trainer, "init") : NULL;
    const cse_yaml_node *all = init != NULL ? cse_yaml_find(init, "callbacks") : NULL;
    if (all == NULL || all->kind != CSE_YAML_SEQUENCE)
        return NULL;
    cse_yaml_node *some = cse_arena_alloc(arena, sizeof *some);
    *some = *all;
    some->children = cse_arena_alloc(arena, ((size_t)all->count + 1) * sizeof *some->children);
    some->count = 0;
    for (int i = 0; i < all->count; i++)
        if (all->children[i]->kind == CSE_YAML_MAPPING &&
            cse_yaml_find(all->children[i], changing_callback) != NULL)
            some->children[some->count++] = all->children[i];
    some->capacity = some->count;
    return some->count > 0 ? some : NULL;
}

void cse_settings_effective(const cse_settings *settings, cse_text *text)
{
    cse_arena *arena = cse_arena_new();
    cse_yaml_node *trainer = cse_yaml_find(cse_settings_tree(arena, settings), "trainer");
    cse_yaml_node *callbacks = changing_callbacks(arena, trainer);
    replace(arena, trainer, "init", without_effect);
    replace(arena, trainer, "init", seed);
    cse_yaml_node *init = trainer != NULL ? cse_yaml_find(trainer, "init") : NULL;
    if (callbacks != NULL)
        cse_yaml_put(arena, init, (cse_yaml_key){ .text = "callbacks" }, callbacks);
    cse_yaml_node *fit = trainer != NULL ? cse_yaml_find(trainer, "fit") : NULL;
    replace(arena, fit, "train_dataloader", places);
    cse_yaml_node *data = fit != NULL ? cse_yaml_find(fit, "train_dataloader") : NULL;
    if (init != NULL)
        cse_yaml_print(without_libraries(arena, init), text);
    cse_text_add(text, "\n");
    if (data != NULL)
        cse_yaml_print(without_libraries(arena, data), text);
    cse_arena_destroy(&arena);
}

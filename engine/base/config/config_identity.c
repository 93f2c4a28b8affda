/* The settings of a configuration that can change a bit of a step. */
#include "engine/base/config/config.h"
#include "engine/base/config/settings.h"

/* Where a run happens, how long it lasts and what it leaves changes no bit of a step. */
static const char *const without_effect[] = { "backend", "model_dir", "loop",      "checkpoint",
                                              "logging", "loggers",   "callbacks", "numerics",
                                              "metrics", "seed",      "samples",   "step_digests",
                                              "alerts",  "states",    NULL };
static const char *const places[] = { "path", "data_dir", NULL };
/* Which code a library holds is known by the step graph and the data. */
static const char *const library[] = { "library", NULL };

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

void cse_settings_effective(const cse_settings *settings, cse_text *text)
{
    cse_arena *arena = cse_arena_new();
    cse_yaml_node *trainer = cse_yaml_find(cse_settings_tree(arena, settings), "trainer");
    replace(arena, trainer, "init", without_effect);
    cse_yaml_node *init = trainer != NULL ? cse_yaml_find(trainer, "init") : NULL;
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

/* Expressions are those of Python, searched for anywhere in a name, as PyTorch programs do it over
 * named_parameters(). */
#include "engine/nn/freezing.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/error.h"
#include "engine/base/registry.h"

static cse_status read_list(cse_arena *arena, const cse_settings *settings, const char *setting,
                            cse_freezing_list *list)
{
    char why[192];
    const int count = cse_settings_count(settings, setting);
    *list = (cse_freezing_list){ .setting = setting, .settings = settings };
    list->patterns = cse_arena_alloc(arena, ((size_t)count + 1) * sizeof(cse_pattern *));
    list->found = cse_arena_alloc(arena, ((size_t)count + 1) * sizeof *list->found);
    for (int i = 0; i < count; i++) {
        const char *text = cse_settings_text_at(settings, setting, i);
        list->patterns[i] = cse_pattern_new(text, why, sizeof why);
        list->count = i + 1;
        if (list->patterns[i] != NULL)
            continue;
        const cse_error error = { .status = CSE_CONFIG,
                                  .place = cse_settings_place_at(settings, setting, i),
                                  .accepted = "accepted: regular expressions of names of "
                                              "parameters, as Python has them" };
        return cse_fail_at(&error, "%s: \"%.80s\" is no regular expression: %s", setting, text,
                           why);
    }
    return CSE_OK;
}

cse_status cse_freezing_new(cse_arena *arena, const cse_settings *settings, cse_freezing **freezing)
{
    *freezing = NULL;
    if (settings == NULL || (cse_settings_count(settings, "freeze") == 0 &&
                             cse_settings_count(settings, "trainable") == 0))
        return CSE_OK;
    *freezing = cse_arena_alloc(arena, sizeof **freezing);
    (*freezing)->arena = arena;
    CSE_TRY(read_list(arena, settings, "freeze", &(*freezing)->freeze));
    return read_list(arena, settings, "trainable", &(*freezing)->trainable);
}

void cse_freezing_clear(cse_freezing *freezing)
{
    if (freezing == NULL)
        return;
    for (int i = 0; i < freezing->freeze.count; i++)
        cse_pattern_destroy(&freezing->freeze.patterns[i]);
    for (int i = 0; i < freezing->trainable.count; i++)
        cse_pattern_destroy(&freezing->trainable.patterns[i]);
    free(freezing->names);
    freezing->names = NULL;
}

static bool matches(cse_freezing_list *list, const char *parameter)
{
    bool any = false;
    for (int i = 0; i < list->count; i++) {
        const bool found = cse_pattern_is_in(list->patterns[i], parameter);
        list->found[i] += found;
        any = any || found;
    }
    return any;
}

bool cse_freezing_holds(cse_freezing *freezing, const char *parameter)
{
    if (freezing == NULL)
        return false;
    CSE_GROW(freezing->names, freezing->name_count, freezing->name_capacity);
    freezing->names[freezing->name_count++] = cse_arena_string(freezing->arena, parameter);
    const bool freezes = matches(&freezing->freeze, parameter);
    const bool trains = matches(&freezing->trainable, parameter);
    return freezes || (freezing->trainable.count > 0 && !trains);
}

/* The name, or the end of one, that is most like an expression. */
static const char *nearest(const cse_freezing *f, const char *text)
{
    const char **names = cse_arena_alloc(f->arena, (2 * (size_t)f->name_count + 1) * sizeof *names);
    int count = 0;
    for (int i = 0; i < f->name_count; i++) {
        const char *name = f->names[i], *dot = strrchr(name, '.');
        names[count++] = name;
        if (dot == NULL)
            continue;
        const char *module = cse_arena_printf(f->arena, "%.*s", (int)(dot - name), name);
        const char *last = strrchr(module, '.');
        names[count++] = last != NULL ? last + 1 : module;
    }
    return cse_did_you_mean(text, names);
}

static cse_status check_list(const cse_freezing *f, const cse_freezing_list *list)
{
    for (int i = 0; i < list->count; i++) {
        if (list->found[i] > 0)
            continue;
        const char *text = cse_settings_text_at(list->settings, list->setting, i);
        const char *near = nearest(f, text);
        const cse_error error = {
            .status = CSE_CONFIG,
            .place = cse_settings_place_at(list->settings, list->setting, i),
            .accepted = cse_arena_printf(f->arena,
                                         "accepted: expressions that match parameters of the "
                                         "model, whose first is %s",
                                         f->name_count > 0 ? f->names[0] : "missing"),
            .hint = near != NULL ? cse_arena_printf(f->arena, "did you mean \"%s\"?", near) : NULL,
        };
        return cse_fail_at(&error, "%s: no parameter of the model has \"%.120s\" in its name",
                           list->setting, text);
    }
    return CSE_OK;
}

cse_status cse_freezing_check(const cse_freezing *freezing)
{
    if (freezing == NULL)
        return CSE_OK;
    CSE_TRY(check_list(freezing, &freezing->freeze));
    return check_list(freezing, &freezing->trainable);
}

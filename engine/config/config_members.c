/* The members that a configuration names, against their plugin folders, and what it sets of them,
 * against their own tables. Tables only: what a member checks beyond its own is found when the run
 * is put together. */
#include <stdlib.h>
#include <string.h>

#include "engine/base/registry.h"
#include "engine/config/config.h"
#include "engine/config/dataloader_table.h"
#include "engine/config/settings.h"

typedef struct member_kind {
    const char *section, *kind, *member;
} member_kind;

static const member_kind member_kinds[] = {
    { "model", "models", "model" },
    { "optimizer", "optimizers", "optimizer" },
    { "schedulers", "schedules", "schedule" },
    { "loggers", "loggers", "logger" },
    { "train_dataloader", "inputs", "input function" },
    { "val_dataloader", "inputs", "input function" },
};

static const void *members_of(const char *name)
{
    const cse_kind *kind = cse_kinds;
    while (kind->name != NULL && strcmp(kind->name, name) != 0)
        kind++;
    return kind->name != NULL ? kind->table : NULL;
}

static cse_status check_settings(const member_kind *kind, const cse_config_member *member,
                                 const cse_configured_descriptor *descriptor,
                                 cse_diagnostics *diagnostics)
{
    const bool input = strcmp(kind->kind, "inputs") == 0;
    cse_arena *arena = cse_arena_new();
    cse_yaml_node *node = NULL;
    cse_settings *settings = NULL;
    cse_setting *joined = input ? cse_dataloader_table_new(descriptor->settings) : NULL;
    const cse_settings_expected expected = {
        .table = input ? joined : descriptor->settings,
        .subject = input ? "data loader"
                         : cse_arena_printf(arena, "%s %s", kind->member, descriptor->name),
        .prefix = "",
        .diagnostics = diagnostics,
    };
    cse_status status = cse_yaml_parse(arena, "", member->yaml, strlen(member->yaml), &node);
    if (status == CSE_OK)
        status = cse_settings_check(arena, &expected, node, &settings);
    free(joined);
    cse_arena_destroy(&arena);
    return status;
}

static cse_status check_member(const member_kind *kind, const cse_config_member *member,
                               cse_diagnostics *diagnostics)
{
    const void *table = members_of(kind->kind), *descriptor = NULL;
    if (table == NULL || member->name == NULL || member->library != NULL)
        return CSE_OK;
    cse_status status = cse_registry_get(table, kind->member, member->name, &descriptor);
    if (status != CSE_OK)
        return cse_diagnostics_take(diagnostics,
                                    cse_fail_within(status, "configuration: %s: ", member->origin));
    return check_settings(kind, member, descriptor, diagnostics);
}

cse_status cse_config_check_members(const cse_config *config, cse_diagnostics *diagnostics)
{
    for (size_t i = 0; i < sizeof member_kinds / sizeof member_kinds[0]; i++) {
        int count = cse_config_member_count(config, member_kinds[i].section);
        for (int k = 0; k < count; k++)
            CSE_TRY(check_member(&member_kinds[i],
                                 cse_config_member_view(config, member_kinds[i].section, k),
                                 diagnostics));
    }
    return CSE_OK;
}

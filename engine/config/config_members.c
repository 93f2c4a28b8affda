/* The names of members that a configuration gives, against their drop-in folders. */
#include <string.h>

#include "engine/base/registry.h"
#include "engine/config/config.h"

cse_status cse_config_check_members(const cse_config *config)
{
    static const struct {
        const char *section, *kind, *member;
    } rows[] = { { "model", "models", "model" },
                 { "optimizer", "optimizers", "optimizer" },
                 { "schedulers", "schedules", "schedule" },
                 { "loggers", "loggers", "logger" },
                 { "train_dataloader", "inputs", "input function" },
                 { "val_dataloader", "inputs", "input function" } };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const cse_kind *kind = cse_kinds;
        while (kind->name != NULL && strcmp(kind->name, rows[i].kind) != 0)
            kind++;
        int count = cse_config_member_count(config, rows[i].section);
        for (int k = 0; k < count && kind->name != NULL; k++) {
            const cse_config_member *member = cse_config_member_view(config, rows[i].section, k);
            const void *found = NULL;
            if (member->library != NULL)
                continue;
            cse_status status = cse_registry_get(kind->table, rows[i].member, member->name, &found);
            if (status != CSE_OK)
                return cse_fail_within(status, "%s: ", member->origin);
        }
    }
    return CSE_OK;
}

/* A data loader from a text, for tests. */
#include "tests/support/open_loader.h"

#include <check.h>
#include <string.h>

#include "run/contracts/traced_run.h"

static cse_status parse(cse_arena *arena, const char *yaml, cse_settings **settings)
{
    cse_yaml_node *tree = NULL;
    cse_status status = cse_yaml_parse(arena, "", yaml, yaml != NULL ? strlen(yaml) : 0, &tree);
    return status == CSE_OK ? cse_dataloader_settings_read(arena, tree, settings)
                            : cse_fail_within(status, "data loader: ");
}

cse_status open_loader(const char *yaml, uint64_t default_seed, cse_dataloader **loader)
{
    return cse_loader_open(yaml, default_seed, loader);
}

char *encoded_loader(const char *yaml)
{
    cse_arena *arena = cse_arena_new();
    cse_settings *settings = NULL;
    cse_text json = { 0 };
    ck_assert_msg(parse(arena, yaml, &settings) == CSE_OK, "%s", cse_error_message());
    cse_dataloader_settings_encode(settings, (cse_batch_kind){ .dropped = true }, &json);
    cse_arena_destroy(&arena);
    return json.data;
}

/* `csengine check-plugin`: the checks of run/contracts on the plugins of a user's library, one line
 * each. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/arguments/command_line.h"
#include "cli/terminal/printing.h"
#include "cli/terminal/report.h"
#include "engine/base/directory.h"
#include "engine/base/library.h"
#include "engine/base/registry.h"
#include "run/contracts/contract.h"

static void print_check(const cse_contract *contract, const char *check, cse_status status)
{
    cse_print("%s  %s %s %s%s%s\n", status == CSE_OK ? "ok  " : "FAIL", contract->kind,
              contract->plugin, check, status == CSE_OK ? "" : ": ",
              status == CSE_OK ? "" : cse_error_message());
    fflush(stdout);
}

static const cse_library *find_library(const char *path)
{
    const cse_library *library = NULL;
    return cse_library_load(path, NULL, &library) == CSE_OK ? library : NULL;
}

static cse_status check_all(const cse_library *library, const char *name, cse_contract *contract)
{
    bool found = name == NULL;
    for (const cse_plugin *p = library->plugins; p->kind != NULL; p++) {
        const cse_descriptor *plugin = p->descriptor;
        if (name != NULL && strcmp(plugin->name, name) != 0)
            continue;
        found = true;
        cse_contract_check(contract, p->kind, plugin);
    }
    if (!found)
        return cse_fail(CSE_CONFIG,
                        "library %s has no plugin '%s'; `csengine list --library %s` "
                        "shows what it has",
                        library->path, name, library->path);
    return contract->failures == 0 ? CSE_OK
                                   : cse_fail(CSE_FAILED, "%d of %d checks failed",
                                              contract->failures, contract->checks);
}

static int run(const cse_command_line *line)
{
    char folder[] = "/tmp/csengine-plugin-XXXXXX";
    cse_contract contract = { .told = print_check };
    cse_status status = cse_plugin_load(line->arguments[0]);
    const cse_library *library = status == CSE_OK ? find_library(line->arguments[0]) : NULL;
    if (library == NULL)
        return cse_report(status);
    contract.folder = mkdtemp(folder);
    if (contract.folder == NULL)
        return cse_report(cse_fail(CSE_CANNOT_CREATE, "%s cannot be made", folder));
    status = check_all(library, line->argument_count > 1 ? line->arguments[1] : NULL, &contract);
    cse_remove_tree(folder);
    if (status == CSE_OK)
        printf("%d checks passed\n", contract.checks);
    return cse_report(status);
}

static const cse_option options[] = { { 0 } };

static const cse_command_note examples[] = {
    { "check-plugin ./plugins.so", "every plugin of a library" },
    { "check-plugin ./plugins.so SignSGD", "one of them" },
    { 0 },
};

const cse_command cse_command_check_plugin = {
    .name = "check-plugin",
    .group = CSE_GROUP_MEASURE,
    .summary = "tests the plugins of a shared object against their contracts",
    .arguments = "LIBRARY [NAME]",
    .doc = "Loads the library, which runs its code, and checks each plugin: that its descriptor is "
           "complete, that it meets the samples that it brings (values of independent "
           "computations, settings that it refuses), that gradients of an op are finite "
           "differences and its compiled code equals its reference in each number format, that an "
           "input function gives the same bits in any order. One line a check; exit code 1 where "
           "one fails.",
    .options = options,
    .min_arguments = 1,
    .max_arguments = 2,
    .examples = examples,
    .computes = true,
    .run = run,
};

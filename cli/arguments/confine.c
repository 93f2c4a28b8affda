/* The options become the value that this process, and by it the workers, go by. */
#include "cli/arguments/confine.h"

#include <stdlib.h>
#include <string.h>

#include "cli/arguments/option_values.h"
#include "engine/base/confinement.h"
#include "engine/base/directory.h"
#include "engine/base/job_environment.h"

static const struct {
    const char *name;
    cse_path_use use;
} folders[] = { { "data_root", CSE_PATH_INPUT },
                { "output_root", CSE_PATH_OUTPUT },
                { "allow_library", CSE_PATH_LIBRARY },
                { "allow_program", CSE_PATH_PROGRAM } };

static cse_status allow_all(const cse_command_line *line, size_t row, cse_confinement *confinement)
{
    const char **values = cse_option_all_values(line, folders[row].name);
    cse_status status = CSE_OK;
    for (int i = 0; values[i] != NULL && status == CSE_OK; i++)
        status = cse_confinement_allow(confinement, folders[row].use, values[i]);
    free(values);
    return status;
}

/* Other hosts find the folders by their names, which they are told in a line. */
static cse_status check_for_hosts(const cse_confinement *confinement)
{
    for (int use = 0; use < CSE_PATH_USES; use++)
        for (int i = 0; i < cse_confinement_count(confinement, (cse_path_use)use); i++) {
            const char *name = cse_confinement_name(confinement, (cse_path_use)use, i);
            if (name[0] != '/' || strchr(name, '\n') != NULL)
                return cse_fail(CSE_USAGE,
                                "%s: with --allow_hosts every folder is named by its absolute path",
                                name);
        }
    return CSE_OK;
}

static cse_status allow_variables(const cse_command_line *line, cse_confinement *confinement)
{
    const char **values = cse_option_all_values(line, "job_environment");
    cse_status status = CSE_OK;
    for (int i = 0; values[i] != NULL && status == CSE_OK; i++)
        status = cse_confinement_allow_variable(confinement, values[i]);
    free(values);
    return status;
}

static cse_status fill(const cse_command_line *line, const char *model_dir,
                       cse_confinement *confinement)
{
    const char *queue = cse_option_value(line, "queue_root");
    CSE_TRY(cse_confinement_allow(confinement, CSE_PATH_OUTPUT, model_dir));
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++)
        CSE_TRY(allow_all(line, i, confinement));
    CSE_TRY(allow_variables(line, confinement));
    if (cse_option_value(line, "data_root") == NULL)
        cse_confinement_allow_data_sets(confinement);
    if (queue != NULL)
        CSE_TRY(cse_confinement_allow_queue(confinement, queue));
    CSE_TRY(cse_confinement_allow(confinement, CSE_PATH_INPUT, model_dir));
    if (!cse_option_is_on(line, "allow_hosts"))
        return CSE_OK;
    cse_confinement_allow_hosts(confinement);
    return check_for_hosts(confinement);
}

static cse_status check_unconfined(const cse_command_line *line)
{
    static const char *const names[] = { "data_root",      "output_root", "allow_library",
                                         "allow_program",  "allow_hosts", "queue_root",
                                         "job_environment" };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (cse_option_value(line, names[i]) != NULL)
            return cse_fail(CSE_USAGE, "%s: --%s has no effect without --confine",
                            line->command->name, names[i]);
    return CSE_OK;
}

cse_status cse_confine_words(const cse_command_line *line, cse_arena *arena, const char ***words)
{
    static const cse_option table[] = { CSE_CONFINE_OPTIONS, { 0 } };
    const char **list = cse_arena_alloc(arena, ((size_t)line->option_count + 1) * sizeof *list);
    int count = 0;
    for (int i = 0; i < line->option_count; i++)
        for (const cse_option *o = table; o->name != NULL; o++)
            if (strcmp(line->options[i].option->name, o->name) == 0)
                list[count++] = o->argument != NULL ? cse_arena_printf(arena, "--%s=%s", o->name,
                                                                       line->options[i].value)
                                                    : cse_arena_printf(arena, "--%s", o->name);
    list[count] = NULL;
    *words = count > 0 ? list : NULL;
    if (count > 0 && !cse_option_is_on(line, "confine"))
        return cse_fail(CSE_USAGE, "%s: %s has no effect without --confine", line->command->name,
                        list[0]);
    return CSE_OK;
}

cse_status cse_confine_if_asked(const cse_command_line *line)
{
    const char *model_dir = cse_option_value(line, "model_dir");
    if (!cse_option_is_on(line, "confine"))
        return check_unconfined(line);
    if (model_dir == NULL)
        return cse_fail(CSE_USAGE,
                        "%s: --confine needs --model_dir DIR, the folder that the job "
                        "may write to",
                        line->command->name);
    CSE_TRY(cse_make_directories("model_dir", model_dir));
    static cse_confinement *own; /* for the rest of the process */
    own = cse_confinement_new();
    cse_status status = fill(line, model_dir, own);
    if (status == CSE_OK) {
        cse_confine(own);
        cse_job_environment_enter(own);
    }
    if (status != CSE_OK)
        cse_confinement_destroy(&own);
    return status;
}

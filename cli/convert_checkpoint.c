/* The earlier file is parsed by the HDF5 library, which is not made for hostile files: this process
 * first gives up all but the two folders. */
#include "cli/convert_checkpoint.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/report.h"
#include "engine/base/sandbox.h"
#include "engine/checkpoint/checkpoint.h"
#include "engine/checkpoint/earlier_file.h"

/* The real path of a file's folder, and the file's name behind it. */
static cse_status resolve(const char *path, char resolved[PATH_MAX], size_t *folder)
{
    char copy[PATH_MAX];
    const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
    if (*name == '\0' || strlen(path) >= sizeof copy)
        return cse_fail(CSE_USAGE, "checkpoint convert: '%s' is not the name of a file", path);
    snprintf(copy, sizeof copy, "%.*s", slash != NULL ? (int)(slash + 1 - path) : 1,
             slash != NULL ? path : ".");
    if (realpath(copy, resolved) == NULL)
        return cse_fail(CSE_NO_INPUT, "%s: %s", copy, strerror(errno));
    *folder = strlen(resolved);
    if (*folder + strlen(name) + 2 > PATH_MAX)
        return cse_fail(CSE_USAGE, "checkpoint convert: the path of '%s' is too long", path);
    snprintf(resolved + *folder, PATH_MAX - *folder, "/%s", name);
    return CSE_OK;
}

static cse_status allow(cse_confinement *confinement, cse_path_use use, char *path, size_t folder)
{
    path[folder] = '\0';
    cse_status status = cse_confinement_allow(confinement, use, folder > 0 ? path : "/");
    path[folder] = '/';
    return status;
}

static cse_status convert(const char *from, const char *to)
{
    cse_checkpoint *checkpoint = NULL;
    CSE_TRY(cse_checkpoint_load_earlier(from, &checkpoint));
    cse_status status = cse_checkpoint_save(checkpoint, to);
    cse_checkpoint_destroy(&checkpoint);
    return status;
}

int cse_convert_checkpoint(const char *from, const char *to)
{
    char input[PATH_MAX], output[PATH_MAX];
    size_t input_folder = 0, output_folder = 0;
    cse_status status = resolve(from, input, &input_folder);
    if (status == CSE_OK)
        status = resolve(to, output, &output_folder);
    if (status == CSE_OK && access(output, F_OK) == 0)
        status = cse_fail(CSE_CANNOT_CREATE, "%s: is there already; give a name that is new", to);
    if (status != CSE_OK)
        return cse_report(status);
    cse_confinement *confinement = cse_confinement_new();
    status = allow(confinement, CSE_PATH_INPUT, input, input_folder);
    if (status == CSE_OK)
        status = allow(confinement, CSE_PATH_OUTPUT, output, output_folder);
    if (status == CSE_OK)
        status = cse_sandbox_enter(CSE_SANDBOX_COORDINATOR, confinement, NULL);
    if (status == CSE_OK)
        status = convert(input, output);
    cse_confinement_destroy(&confinement);
    if (status != CSE_OK)
        return cse_report(status);
    printf("%s: written\n", to);
    return 0;
}

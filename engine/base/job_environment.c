/* docs/security.md has the list, too. */
#include "engine/base/job_environment.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"

extern char **environ;

static const char *const names[] = {
    /* who and where */
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "XDG_RUNTIME_DIR", "HOSTNAME",
    /* language, time, terminal */
    "LANG", "LANGUAGE", "TZ", "TERM", "COLUMNS", "NO_COLOR", "FORCE_COLOR",
    /* libraries, compilers, interpreters */
    "LD_LIBRARY_PATH", "LD_PRELOAD", "CPATH", "C_INCLUDE_PATH", "LIBRARY_PATH", "GLIBC_TUNABLES",
    "SOURCE_DATE_EPOCH", "PYTHONPATH", "PYTHONHOME", "PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED",
    "PYTHONHASHSEED", "VIRTUAL_ENV", "HDF5_USE_FILE_LOCKING", "HDF5_PLUGIN_PATH",
    /* of this program */
    "CSE_CC", "CSE_ISA", "CSE_ATTENTION", "CSE_MATMUL", "CSE_POOL2D", "CSE_TILED", "CSE_DISABLE",
    "CSE_CLUSTER_DEFAULTS", "MODELZOO_ROOT"
};

/* All that begin so. */
static const char *const beginnings[] = { "LC_",       "OMP_",    "GOMP_",     "KMP_",
                                          "OPENBLAS_", "MKL_",    "DNNL_",     "ONEDNN_",
                                          "HWLOC_",    "MALLOC_", "ASAN_",     "LSAN_",
                                          "TSAN_",     "UBSAN_",  "CSENGINE_", "SLURM" };

/* Of those, what opens something. */
static const char *const secret[] = { "SLURM_JWT" };

static bool is_among(const char *const *list, size_t count, const char *word, size_t length)
{
    for (size_t i = 0; i < count; i++)
        if (strlen(list[i]) == length && strncmp(list[i], word, length) == 0)
            return true;
    return false;
}

#define AMONG(list, word, length) is_among(list, sizeof(list) / sizeof(list)[0], word, length)

static bool keeps(const cse_confinement *confinement, const char *word)
{
    const size_t length = strcspn(word, "=");
    if (confinement == NULL)
        return true;
    for (int i = 0; i < cse_confinement_variable_count(confinement); i++)
        if (is_among((const char *[]){ cse_confinement_variable(confinement, i) }, 1, word, length))
            return true;
    if (AMONG(secret, word, length))
        return false;
    for (size_t i = 0; i < sizeof beginnings / sizeof beginnings[0]; i++)
        if (strncmp(beginnings[i], word, strlen(beginnings[i])) == 0)
            return true;
    return AMONG(names, word, length);
}

char **cse_job_environment_list(const cse_confinement *confinement)
{
    size_t count = 0, kept = 0;
    while (environ[count] != NULL)
        count++;
    char **list = cse_calloc(count + 2, sizeof *list);
    for (size_t i = 0; i < count; i++)
        if (keeps(confinement, environ[i]))
            list[kept++] = environ[i];
    return list;
}

void cse_job_environment_enter(const cse_confinement *confinement)
{
    size_t kept = 0;
    for (size_t i = 0; environ != NULL && environ[i] != NULL; i++)
        if (keeps(confinement, environ[i]))
            environ[kept++] = environ[i];
        else
            explicit_bzero(environ[i], strlen(environ[i]));
    if (environ != NULL)
        environ[kept] = NULL;
}

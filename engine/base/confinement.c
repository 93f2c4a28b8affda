/* A folder is held by a descriptor and known by two names, the one given and its real one. A path
 * is taken apart by these names, and what follows is opened below the descriptor. */
#include "engine/base/confinement.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/arena.h"
#include "engine/base/beneath.h"

/* dataset-fashion-mnist and its kind; base-files, whose licences are text to train on. */
static const char *const data_sets[] = { "/usr/share/datasets", "/usr/share/common-licenses" };

typedef struct folder {
    char *given, *real;
    int descriptor;
    bool queue; /* files directly in it are not input */
} folder;

typedef struct folders {
    folder *items;
    int count, capacity;
} folders;

struct cse_confinement {
    folders of[CSE_PATH_USES];
    char **variables;
    int variable_count, variable_capacity;
    bool hosts;
};

/* The first word of the text, with other hosts. */
#define WITH_HOSTS "hosts "

static const cse_confinement *own;

/* ---- the value ---- */

cse_confinement *cse_confinement_new(void)
{
    return cse_calloc(1, sizeof(cse_confinement));
}

void cse_confinement_destroy(cse_confinement **confinement)
{
    for (int use = 0; *confinement != NULL && use < CSE_PATH_USES; use++) {
        folders *list = &(*confinement)->of[use];
        for (int i = 0; i < list->count; i++) {
            close(list->items[i].descriptor);
            free(list->items[i].given);
            free(list->items[i].real);
        }
        free(list->items);
    }
    for (int i = 0; *confinement != NULL && i < (*confinement)->variable_count; i++)
        free((*confinement)->variables[i]);
    if (*confinement != NULL)
        free((*confinement)->variables);
    free(*confinement);
    *confinement = NULL;
}

static cse_status allow(cse_confinement *confinement, cse_path_use use, const char *path,
                        bool queue)
{
    folder added = { .descriptor = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC), .queue = queue };
    added.real = added.descriptor >= 0 ? realpath(path, NULL) : NULL;
    if (added.real == NULL) {
        cse_status status = cse_fail(CSE_NO_INPUT, "%s: not a folder that jobs could use: %s", path,
                                     strerror(errno));
        if (added.descriptor >= 0)
            close(added.descriptor);
        return status;
    }
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/')
        length--;
    added.given = strndup(path, length);
    folders *list = &confinement->of[use];
    CSE_GROW(list->items, list->count, list->capacity);
    list->items[list->count++] = added;
    return CSE_OK;
}

cse_status cse_confinement_allow(cse_confinement *confinement, cse_path_use use, const char *path)
{
    return allow(confinement, use, path, false);
}

cse_status cse_confinement_allow_queue(cse_confinement *confinement, const char *path)
{
    return allow(confinement, CSE_PATH_INPUT, path, true);
}

void cse_confinement_allow_data_sets(cse_confinement *confinement)
{
    for (size_t i = 0; i < sizeof data_sets / sizeof data_sets[0]; i++)
        if (access(data_sets[i], X_OK) == 0)
            (void)allow(confinement, CSE_PATH_INPUT, data_sets[i], false);
}

void cse_confinement_allow_hosts(cse_confinement *confinement)
{
    confinement->hosts = true;
}

bool cse_confinement_allows_hosts(const cse_confinement *confinement)
{
    return confinement->hosts;
}

cse_status cse_confinement_allow_variable(cse_confinement *confinement, const char *name)
{
    if (*name == '\0' || strchr(name, '=') != NULL)
        return cse_fail(CSE_USAGE, "job_environment %s: accepted is the name of a variable", name);
    CSE_GROW(confinement->variables, confinement->variable_count, confinement->variable_capacity);
    confinement->variables[confinement->variable_count++] = cse_strdup(name);
    return CSE_OK;
}

int cse_confinement_variable_count(const cse_confinement *confinement)
{
    return confinement->variable_count;
}

const char *cse_confinement_variable(const cse_confinement *confinement, int index)
{
    return confinement->variables[index];
}

int cse_confinement_count(const cse_confinement *confinement, cse_path_use use)
{
    return confinement->of[use].count;
}

const char *cse_confinement_folder(const cse_confinement *confinement, cse_path_use use, int index)
{
    return confinement->of[use].items[index].real;
}

const char *cse_confinement_name(const cse_confinement *confinement, cse_path_use use, int index)
{
    return confinement->of[use].items[index].given;
}

bool cse_confinement_is_queue(const cse_confinement *confinement, int index)
{
    return confinement->of[CSE_PATH_INPUT].items[index].queue;
}

void cse_confinement_encode(const cse_confinement *confinement, cse_text *text)
{
    cse_text_add(text, "%s", confinement->hosts ? WITH_HOSTS : "");
    for (int use = 0; use < CSE_PATH_USES; use++)
        for (int i = 0; i < confinement->of[use].count; i++) {
            const folder *f = &confinement->of[use].items[i];
            cse_text_add(text, "%d%c%zu %s", use, f->queue ? 'q' : '-', strlen(f->given), f->given);
        }
}

cse_status cse_confinement_decode(const char *text, cse_confinement **confinement)
{
    cse_status status = CSE_OK;
    *confinement = cse_confinement_new();
    (*confinement)->hosts = strncmp(text, WITH_HOSTS, strlen(WITH_HOSTS)) == 0;
    text += (*confinement)->hosts ? strlen(WITH_HOSTS) : 0;
    while (status == CSE_OK && *text != '\0') {
        int use = -1, used = 0;
        char kind = '\0', path[PATH_MAX];
        size_t length = 0;
        if (sscanf(text, "%1d%c%zu %n", &use, &kind, &length, &used) != 3 || use < 0 ||
            use >= CSE_PATH_USES || length >= sizeof path || strlen(text + used) < length) {
            status = cse_fail(CSE_INTERNAL, "the folders of a confined job: malformed text");
            break;
        }
        snprintf(path, sizeof path, "%.*s", (int)length, text + used);
        if (allow(*confinement, (cse_path_use)use, path, kind == 'q') != CSE_OK && errno != ENOENT)
            status = CSE_NO_INPUT;
        text += used + length;
    }
    if (status != CSE_OK)
        cse_confinement_destroy(confinement);
    return status;
}

/* ---- which folder a path is written below ---- */

static bool has_parent_component(const char *path)
{
    for (const char *at = path; (at = strstr(at, "..")) != NULL; at += 2)
        if ((at == path || at[-1] == '/') && (at[2] == '\0' || at[2] == '/'))
            return true;
    return false;
}

/* What follows the folder's name in `path`; NULL when it is elsewhere. */
static const char *rest_below(const char *name, const char *path)
{
    size_t length = strcmp(name, "/") == 0 ? 0 : strlen(name);
    if (strncmp(path, name, length) != 0 || (path[length] != '/' && path[length] != '\0'))
        return NULL;
    path += length;
    path += strspn(path, "/");
    return *path != '\0' ? path : ".";
}

/* An absolute path of the same meaning, cut to `size`. */
static void make_absolute(const cse_confinement *confinement, cse_path_use use, const char *path,
                          char *absolute, size_t size)
{
    char here[PATH_MAX];
    const folders *outputs = &confinement->of[CSE_PATH_OUTPUT];
    const char *from = getcwd(here, sizeof here);
    if (use == CSE_PATH_OUTPUT)
        from = outputs->count > 0 ? outputs->items[0].real : NULL;
    if (*path == '/' || from == NULL)
        snprintf(absolute, size, "%s", path);
    else
        snprintf(absolute, size, "%s/%s", from, path);
}

/* The folder that `path` is written below, and what follows it, in `rest`; NULL for none. */
static const folder *find(const cse_confinement *confinement, cse_path_use use, const char *path,
                          char rest[PATH_MAX])
{
    char absolute[PATH_MAX];
    make_absolute(confinement, use, path, absolute, sizeof absolute);
    if (has_parent_component(path))
        return NULL;
    const folders *list = &confinement->of[use];
    for (int i = 0; i < list->count; i++) {
        const char *found = rest_below(list->items[i].given, absolute);
        if (found == NULL)
            found = rest_below(list->items[i].real, absolute);
        if (found != NULL) {
            snprintf(rest, PATH_MAX, "%s", found);
            return &list->items[i];
        }
    }
    return NULL;
}

static cse_status refuse(const cse_confinement *confinement, cse_path_use use, cse_status status,
                         const char *path)
{
    static const struct {
        const char *may, *own, *option;
    } rows[] = { [CSE_PATH_INPUT] = { "read", "", "data_root" },
                 [CSE_PATH_OUTPUT] = { "write to", "the job's own folder", "output_root" },
                 [CSE_PATH_LIBRARY] = { "load", "", "allow_library" },
                 [CSE_PATH_PROGRAM] = { "run", "", "allow_program" } };
    cse_text names = { 0 };
    const folders *list = &confinement->of[use];
    cse_text_add(&names, "%s", rows[use].own);
    for (int i = use == CSE_PATH_OUTPUT ? 1 : 0; i < list->count; i++)
        cse_text_add(&names, "%s%s", names.size > 0 ? ", " : "", list->items[i].given);
    cse_fail_at(&(cse_error){ .status = status },
                "%.400s: this job may not %s it: accepted are %s%s; the operator of the server "
                "adds a folder by --%s DIR",
                path, rows[use].may,
                names.size > 0 ? "paths, without \"..\" or links that lead "
                                 "out, below "
                               : "none",
                names.data, rows[use].option);
    cse_text_clear(&names);
    return status;
}

cse_status cse_confinement_check(const cse_confinement *confinement, cse_path_use use,
                                 const char *path)
{
    char rest[PATH_MAX];
    if (confinement == NULL || find(confinement, use, path, rest) != NULL)
        return CSE_OK;
    return refuse(confinement, use, CSE_CONFIG, path);
}

/* ---- of this process ---- */

void cse_confine(const cse_confinement *confinement)
{
    own = confinement;
}

cse_status cse_confinement_reopen(void)
{
    for (int use = 0; own != NULL && use < CSE_PATH_USES; use++)
        for (int i = 0; i < own->of[use].count; i++) {
            folder *f = &own->of[use].items[i];
            const int opened = open(f->real, O_PATH | O_DIRECTORY | O_CLOEXEC);
            if (opened < 0)
                return cse_fail(CSE_NO_INPUT, "%s: %s", f->real, strerror(errno));
            close(f->descriptor);
            f->descriptor = opened;
        }
    return CSE_OK;
}

const cse_confinement *cse_confinement_view(void)
{
    return own;
}

cse_status cse_confinement_refuse(cse_path_use use, const char *path)
{
    return refuse(own, use, CSE_PERMISSION, path);
}

/* Whether an opened file lies directly in the folder, wherever its path led through. */
static bool lies_directly_in(const folder *of, int descriptor)
{
    char link[64], real[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, real, sizeof real - 1);
    if (length < 0)
        return true; /* not known: refused */
    real[length] = '\0';
    const char *rest = rest_below(of->real, real);
    return rest != NULL && strchr(rest, '/') == NULL;
}

int cse_confined_open(cse_path_use use, const char *path, int flags, mode_t mode)
{
    char rest[PATH_MAX];
    if (own == NULL)
        return open(path, flags | O_CLOEXEC, mode);
    const folder *in = find(own, use, path, rest);
    int opened = in != NULL ? cse_open_beneath(in->descriptor, rest, flags, mode) : -1;
    if (in == NULL)
        errno = EXDEV;
    if (opened < 0 || !in->queue || !lies_directly_in(in, opened))
        return opened;
    close(opened);
    errno = EXDEV;
    return -1;
}

cse_status cse_confined_program(const char *program)
{
    if (cse_confinement_view() == NULL)
        return CSE_OK;
    const int file = cse_confined_open(CSE_PATH_PROGRAM, program, O_RDONLY, 0);
    if (file >= 0) {
        close(file);
        return CSE_OK;
    }
    return errno == EXDEV ? cse_confinement_refuse(CSE_PATH_PROGRAM, program)
                          : cse_fail(CSE_NO_INPUT, "%s: %s", program, strerror(errno));
}

FILE *cse_confined_stream(const char *path, int flags)
{
    int opened = cse_confined_open(CSE_PATH_OUTPUT, path, flags | O_WRONLY | O_CREAT, 0666);
    FILE *stream = opened >= 0 ? fdopen(opened, flags & O_APPEND ? "a" : "w") : NULL;
    if (opened >= 0 && stream == NULL)
        close(opened);
    if (stream != NULL && (flags & O_APPEND) != 0)
        fseek(stream, 0, SEEK_END); /* fdopen leaves the position at the beginning */
    return stream;
}

int cse_confined_make_directories(const char *path)
{
    char rest[PATH_MAX];
    const folder *in = find(own, CSE_PATH_OUTPUT, path, rest);
    if (in != NULL)
        return cse_make_beneath(in->descriptor, rest, 0777);
    errno = EXDEV;
    return -1;
}

const char *cse_confined_output(const char *path, char *to, size_t size)
{
    if (own != NULL)
        make_absolute(own, CSE_PATH_OUTPUT, path, to, size);
    else
        snprintf(to, size, "%s", path);
    return to;
}

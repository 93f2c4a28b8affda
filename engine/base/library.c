/* A confined process loads the descriptor that it opened: the loader knows the library by its name
 * in /proc. Any other process gives the loader the path, so that a library finds its neighbours. */
#include "engine/base/library.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/arena.h"
#include "engine/base/confinement.h"
#include "engine/base/library_code.h"
#include "engine/base/path.h"
#include "engine/base/plugin_kinds.h"
#include "engine/base/registry.h"

enum { BLOCK_BYTES = 1 << 16, LONGEST_NAME = 64, MOST_PLUGINS = 1024 };

static cse_library **libraries;
static int library_count, library_capacity;

/* ---- the file ---- */

static cse_status take_digest(cse_library *l)
{
    unsigned char hash[32], block[BLOCK_BYTES];
    crypto_generichash_state state;
    off_t offset = 0;
    if (sodium_init() < 0)
        return cse_fail(CSE_INTERNAL, "libsodium cannot be initialized");
    crypto_generichash_init(&state, NULL, 0, sizeof hash);
    for (;;) {
        const ssize_t got = pread(l->descriptor, block, sizeof block, offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return cse_fail(CSE_IO, "library %s cannot be read: %s", l->path, strerror(errno));
        if (got == 0)
            break;
        crypto_generichash_update(&state, block, (size_t)got);
        offset += got;
    }
    crypto_generichash_final(&state, hash, sizeof hash);
    sodium_bin2hex(l->digest, sizeof l->digest, hash, sizeof hash);
    return CSE_OK;
}

static cse_status open_file(cse_library *l)
{
    struct stat facts;
    l->descriptor = cse_confined_open(CSE_PATH_LIBRARY, l->path, O_RDONLY | O_NONBLOCK, 0);
    if (l->descriptor < 0 && errno == EXDEV)
        return cse_confinement_refuse(CSE_PATH_LIBRARY, l->path);
    if (l->descriptor < 0)
        return cse_fail(errno == EACCES ? CSE_PERMISSION : CSE_NO_INPUT,
                        "library %s cannot be opened: %s", l->path, strerror(errno));
    if (fstat(l->descriptor, &facts) != 0 || !S_ISREG(facts.st_mode))
        return cse_fail(CSE_DATA, "library %s is no regular file: give the path of a shared object",
                        l->path);
    l->device = facts.st_dev;
    l->inode = facts.st_ino;
    l->modified_ns = (int64_t)facts.st_mtim.tv_sec * INT64_C(1000000000) + facts.st_mtim.tv_nsec;
    return CSE_OK;
}

static cse_library *find_loaded(const cse_library *file)
{
    for (int i = 0; i < library_count; i++)
        if (libraries[i]->device == file->device && libraries[i]->inode == file->inode &&
            libraries[i]->modified_ns == file->modified_ns)
            return libraries[i];
    return NULL;
}

/* ---- the table ---- */

static bool is_name(const char *name)
{
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
    size_t length = name != NULL ? strlen(name) : 0;
    return length > 0 && length <= LONGEST_NAME && strspn(name, allowed) == length;
}

static cse_status check_members(const cse_library *l, const cse_plugin_kind *kind,
                                const void *descriptor)
{
    const char *name = ((const cse_descriptor *)descriptor)->name;
    for (const cse_required_member *m = kind->required;
         m < kind->required + sizeof kind->required / sizeof kind->required[0] && m->name; m++) {
        const void *value;
        memcpy(&value, (const char *)descriptor + m->offset, sizeof value);
        if (value == NULL)
            return cse_fail(CSE_DATA,
                            "library %s: %s %s: its descriptor must have the member `%s` "
                            "(csengine/%s.h)",
                            l->path, kind->title, name, m->name, kind->name);
    }
    return CSE_OK;
}

/* A version is looked at before any other member of the descriptor. */
static cse_status check_plugin(const cse_library *l, const cse_plugin *plugin)
{
    const cse_plugin_kind *kind = cse_plugin_kind_find(plugin->kind);
    if (plugin->descriptor == NULL)
        return cse_fail(CSE_DATA, "library %s: its table has a row without a descriptor", l->path);
    if (kind == NULL)
        return CSE_OK; /* of a later engine; it cannot be asked for */
    const char *name = ((const cse_descriptor *)plugin->descriptor)->name;
    if (!is_name(name))
        return cse_fail(CSE_DATA,
                        "library %s: the name of a plugin of kind %s has other characters than "
                        "letters, digits, \"_\", \"-\" and \".\", or not 1 to %d of them",
                        l->path, plugin->kind, LONGEST_NAME);
    if (plugin->abi != kind->abi)
        return cse_fail(CSE_DATA,
                        "library %s: %s %s is compiled for version %d of the contract of its kind, "
                        "and this engine has version %d: compile it again with the headers of this "
                        "engine (pkg-config --cflags csengine)",
                        l->path, kind->title, name, plugin->abi, kind->abi);
    for (const cse_plugin *other = l->plugins; other != plugin; other++)
        if (strcmp(other->kind, plugin->kind) == 0 &&
            strcmp(((const cse_descriptor *)other->descriptor)->name, name) == 0)
            return cse_fail(CSE_DATA, "library %s has two plugins of kind %s named %s", l->path,
                            plugin->kind, name);
    return check_members(l, kind, plugin->descriptor);
}

static cse_status read_table(cse_library *l, void *handle)
{
    const cse_plugin_table *table = dlsym(handle, "cse_plugin_library");
    if (table == NULL)
        return cse_fail(CSE_DATA,
                        "library %s exports no table of plugins: end one of its files with "
                        "CSE_PLUGINS(...), see csengine/plugin.h",
                        l->path);
    if (table->abi != CSE_PLUGIN_ABI)
        return cse_fail(CSE_DATA,
                        "library %s: its table of plugins has version %d, and this engine reads "
                        "version %d: compile it again with the headers of this engine (pkg-config "
                        "--cflags csengine)",
                        l->path, table->abi, CSE_PLUGIN_ABI);
    l->plugins = table->plugins;
    int count = 0;
    for (const cse_plugin *p = l->plugins; p->kind != NULL; p++)
        if (++count > MOST_PLUGINS)
            return cse_fail(CSE_DATA, "library %s: its table has more than %d rows, or no end",
                            l->path, MOST_PLUGINS);
        else
            CSE_TRY(check_plugin(l, p));
    return CSE_OK;
}

static cse_status load_code(cse_library *l)
{
    char name[4200];
    if (cse_confinement_view() != NULL)
        snprintf(name, sizeof name, "/proc/self/fd/%d", l->descriptor);
    else /* a plain file name means the file here, not a search of the system's folders */
        snprintf(name, sizeof name, "%s%s", strchr(l->path, '/') ? "" : "./", l->path);
    void *handle;
    CSE_TRY(cse_library_code_load(l->path, name, &handle));
    return read_table(l, handle);
}

static cse_status check_digest(const cse_library *l, const char *digest)
{
    if (digest == NULL || strcmp(digest, l->digest) == 0)
        return CSE_OK;
    return cse_fail(CSE_DATA,
                    "library %s changed under the run: its digest was %.16s... when the run began "
                    "and is %.16s... now: put the file back, or start the run again",
                    l->path, digest, l->digest);
}

static cse_status load_file(cse_library *l, const char *digest)
{
    CSE_TRY(take_digest(l));
    CSE_TRY(check_digest(l, digest));
    return load_code(l);
}

cse_status cse_library_load(const char *given, const char *digest, const cse_library **library)
{
    cse_arena *arena = cse_arena_new();
    const char *path = NULL, *problem = cse_path_expand(arena, given, &path);
    cse_library *l = cse_calloc(1, sizeof *l), *loaded = NULL;
    l->descriptor = -1;
    *library = NULL;
    cse_status status = CSE_OK;
    if (problem != NULL)
        status = cse_fail_at(&(cse_error){ .status = CSE_CONFIG, .hint = cse_path_hint },
                             "library \"%.200s\" %s", given, problem);
    else
        l->path = cse_strdup(path);
    cse_arena_destroy(&arena);
    if (status == CSE_OK)
        status = open_file(l);
    if (status == CSE_OK && (loaded = find_loaded(l)) != NULL)
        status = check_digest(loaded, digest);
    else if (status == CSE_OK)
        status = load_file(l, digest);
    if (status == CSE_OK && loaded == NULL) {
        CSE_GROW(libraries, library_count, library_capacity);
        *library = libraries[library_count++] = l;
        return CSE_OK;
    }
    *library = status == CSE_OK ? loaded : NULL;
    if (l->descriptor >= 0)
        close(l->descriptor);
    free((char *)(uintptr_t)l->path);
    free(l);
    return status;
}

const cse_library *cse_library_at(int index)
{
    return index >= 0 && index < library_count ? libraries[index] : NULL;
}

/* ---- lookup ---- */

static const void *find_plugin(const cse_library *l, const char *kind, const char *name)
{
    for (const cse_plugin *p = l->plugins; p->kind != NULL; p++)
        if (strcmp(p->kind, kind) == 0 &&
            strcmp(((const cse_descriptor *)p->descriptor)->name, name) == 0)
            return p->descriptor;
    return NULL;
}

/* A name that the library has for another kind. */
static const cse_plugin_kind *other_kind(const cse_library *l, const char *name)
{
    for (const cse_plugin *p = l->plugins; p->kind != NULL; p++)
        if (cse_plugin_kind_find(p->kind) != NULL &&
            strcmp(((const cse_descriptor *)p->descriptor)->name, name) == 0)
            return cse_plugin_kind_find(p->kind);
    return NULL;
}

static const char *title_of(const char *kind)
{
    const cse_plugin_kind *known = cse_plugin_kind_find(kind);
    return known != NULL ? known->title : kind;
}

cse_status cse_library_find(const cse_library *library, const char *kind, const char *name,
                            const void **descriptor)
{
    *descriptor = find_plugin(library, kind, name);
    if (*descriptor != NULL)
        return CSE_OK;
    const cse_plugin_kind *other = other_kind(library, name);
    if (other != NULL)
        return cse_fail(CSE_CONFIG, "library %s: '%s' is no %s, it is a plugin of the kind %s",
                        library->path, name, title_of(kind), other->title);
    const void *own[MOST_PLUGINS + 1];
    int count = 0;
    for (const cse_plugin *p = library->plugins; p->kind != NULL; p++)
        if (strcmp(p->kind, kind) == 0)
            own[count++] = p->descriptor;
    own[count] = NULL;
    if (count == 0)
        return cse_fail(CSE_CONFIG,
                        "library %s has no %s at all; `csengine list --library %s` "
                        "shows what it has",
                        library->path, title_of(kind), library->path);
    cse_registry_get(own, title_of(kind), name, descriptor);
    const cse_error error = *cse_error_last();
    return cse_fail_at(&error, "library %s: %s", library->path, error.message);
}

static cse_status fail_ambiguous(const cse_plugin_wanted *wanted, const cse_library *one,
                                 const cse_library *other)
{
    return cse_fail(CSE_CONFIG,
                    "there are two %ss '%s', in the libraries %s and %s: say which, {library: "
                    "PATH, name: %s}",
                    title_of(wanted->kind), wanted->name, one->path, other->path, wanted->name);
}

cse_status cse_plugin_find(const cse_plugin_wanted *wanted, const void **descriptor,
                           const cse_library **library)
{
    const cse_library *found = NULL, *at;
    *descriptor = NULL;
    if (wanted->library != NULL) {
        CSE_TRY(cse_library_load(wanted->library, NULL, &found));
        CSE_TRY(cse_library_find(found, wanted->kind, wanted->name, descriptor));
    } else if (cse_registry_find(wanted->table, wanted->name) != NULL) {
        *descriptor = cse_registry_find(wanted->table, wanted->name);
    } else if (wanted->name != NULL) {
        for (int i = 0; (at = cse_library_at(i)) != NULL; i++) {
            const void *plugin = find_plugin(at, wanted->kind, wanted->name);
            if (plugin != NULL && found != NULL)
                return fail_ambiguous(wanted, found, at);
            if (plugin != NULL) {
                *descriptor = plugin;
                found = at;
            }
        }
    }
    if (library != NULL)
        *library = found;
    if (*descriptor != NULL)
        return CSE_OK;
    return (wanted->any_case ? cse_registry_get_any_case : cse_registry_get)(
        wanted->table, title_of(wanted->kind), wanted->name, descriptor);
}

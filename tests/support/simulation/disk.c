/* The log of changes, and the states that a crash leaves.
 *
 * A node is a file or a folder, numbered when it is first seen; a folder's names are entries of
 * (folder, name) → node. The log holds what happened to nodes, so that a file that was renamed is
 * still the same. */
#include "tests/support/simulation/disk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "engine/base/arena.h"

enum { BLOCK_BYTES = 512, NAME_BYTES = 256, ROOT = 0, NO_NODE = -1 };

typedef enum change_kind {
    WRITTEN,
    TRUNCATED,
    SYNCED,
    LINKED,
    UNLINKED,
    MOVED,
    EXCHANGED
} change_kind;

typedef struct bytes {
    unsigned char *data;
    size_t size, capacity;
} bytes;

/* One change: of a node's bytes, or of the names in a folder. */
typedef struct change {
    change_kind kind;
    int node;  /* whose bytes; or the folder's */
    int other; /* the node that gets a name */
    char name[NAME_BYTES], to[NAME_BYTES];
    size_t offset;
    bytes content; /* written; of SYNCED the whole file */
} change;

typedef struct entry {
    int folder, node;
    char name[NAME_BYTES];
} entry;

typedef struct disk_node {
    bool is_folder;
    bytes content; /* when the watch began */
} disk_node;

typedef struct names {
    entry *items;
    int count, capacity;
} names;

disk_faults disk_fault = { .fails_at = -1, .short_at = -1 };

static struct {
    char folder[DISK_PATH_BYTES];
    disk_node *nodes;
    int node_count, node_capacity;
    names first, now; /* when the watch began; now */
    change *log;
    int log_length, log_capacity;
    int opened[DISK_DESCRIPTORS]; /* node + 1 */
    long calls, writes, failures;
} disk;

/* ---- names ---- */

static entry *find(names *in, int folder, const char *name)
{
    for (int i = 0; i < in->count; i++)
        if (in->items[i].folder == folder && strcmp(in->items[i].name, name) == 0)
            return &in->items[i];
    return NULL;
}

static void drop(names *in, int folder, const char *name)
{
    entry *found = find(in, folder, name);
    if (found != NULL)
        *found = in->items[--in->count];
}

static void put(names *in, int folder, const char *name, int to)
{
    drop(in, folder, name);
    CSE_GROW(in->items, in->count, in->capacity);
    entry *added = &in->items[in->count++];
    *added = (entry){ .folder = folder, .node = to };
    snprintf(added->name, sizeof added->name, "%s", name);
}

static void apply_name(names *in, const change *c)
{
    entry *from = find(in, c->node, c->name), *to = find(in, c->node, c->to);
    if (c->kind == LINKED) {
        put(in, c->node, c->name, c->other);
    } else if (c->kind == UNLINKED) {
        drop(in, c->node, c->name);
    } else if (c->kind == MOVED && from != NULL) {
        const int moved = from->node;
        drop(in, c->node, c->name);
        put(in, c->node, c->to, moved);
    } else if (c->kind == EXCHANGED && from != NULL && to != NULL) {
        const int moved = from->node;
        from->node = to->node;
        to->node = moved;
    }
}

static int add_node(bool is_folder)
{
    CSE_GROW(disk.nodes, disk.node_count, disk.node_capacity);
    disk.nodes[disk.node_count] = (disk_node){ .is_folder = is_folder };
    return disk.node_count++;
}

/* The folder that holds the path's last name; NO_NODE: it is not watched. */
static int folder_of(int directory, const char *path, char name[NAME_BYTES])
{
    char whole[2 * DISK_PATH_BYTES], base[DISK_PATH_BYTES] = "";
    if (path[0] != '/') {
        char link[64];
        snprintf(link, sizeof link, "/proc/self/cwd");
        if (directory != AT_FDCWD)
            snprintf(link, sizeof link, "/proc/self/fd/%d", directory);
        const ssize_t length = readlink(link, base, sizeof base - 1);
        base[length > 0 ? length : 0] = '\0';
    }
    snprintf(whole, sizeof whole, "%s%s%s", base, base[0] != '\0' ? "/" : "", path);
    const size_t length = strlen(disk.folder);
    name[0] = '\0';
    if (length == 0 || strncmp(whole, disk.folder, length) != 0)
        return NO_NODE;
    if (whole[length] != '/')
        return whole[length] == '\0' ? ROOT : NO_NODE;
    int folder = ROOT;
    char *rest = whole + length, *word = strtok_r(rest, "/", &rest), *next;
    for (; word != NULL && (next = strtok_r(NULL, "/", &rest)) != NULL; word = next) {
        const entry *found = find(&disk.now, folder, word);
        if (found == NULL)
            return NO_NODE;
        folder = found->node;
    }
    snprintf(name, NAME_BYTES, "%s", word != NULL ? word : "");
    return folder;
}

/* ---- the log ---- */

static void append(bytes *to, const void *data, size_t size)
{
    if (to->size + size > to->capacity) {
        to->capacity = 2 * (to->size + size);
        unsigned char *larger = realloc(to->data, to->capacity);
        if (larger == NULL)
            abort();
        to->data = larger;
    }
    if (size > 0)
        memcpy(to->data + to->size, data, size);
    to->size += size;
}

static change *add_change(change_kind kind, int of)
{
    CSE_GROW(disk.log, disk.log_length, disk.log_capacity);
    change *added = &disk.log[disk.log_length++];
    *added = (change){ .kind = kind, .node = of };
    return added;
}

static void read_whole(int descriptor, bytes *content)
{
    unsigned char block[65536];
    ssize_t got;
    while ((got = pread(descriptor, block, sizeof block, (off_t)content->size)) > 0)
        append(content, block, (size_t)got);
}

static void name_changed(change *c)
{
    apply_name(&disk.now, c);
}

/* ---- watching ---- */

static void scan(const char *path, int folder)
{
    DIR *entries = opendir(path);
    for (struct dirent *e; entries != NULL && (e = readdir(entries)) != NULL;) {
        char below[DISK_PATH_BYTES];
        struct stat found;
        snprintf(below, sizeof below, "%.4000s/%s", path, e->d_name);
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 ||
            lstat(below, &found) != 0)
            continue;
        const int added = add_node(S_ISDIR(found.st_mode));
        put(&disk.first, folder, e->d_name, added);
        put(&disk.now, folder, e->d_name, added);
        if (disk.nodes[added].is_folder) {
            scan(below, added);
            continue;
        }
        const int file = (int)syscall(SYS_open, below, O_RDONLY | O_CLOEXEC);
        read_whole(file, &disk.nodes[added].content);
        syscall(SYS_close, file);
    }
    if (entries != NULL)
        closedir(entries);
}

static void forget(void)
{
    for (int i = 0; i < disk.node_count; i++)
        free(disk.nodes[i].content.data);
    for (int i = 0; i < disk.log_length; i++)
        free(disk.log[i].content.data);
    disk.node_count = disk.log_length = disk.first.count = disk.now.count = 0;
    disk.calls = disk.writes = disk.failures = 0;
    memset(disk.opened, 0, sizeof disk.opened);
    disk.folder[0] = '\0';
}

void disk_watch(const char *folder)
{
    forget();
    disk_fault = (disk_faults){ .fails_at = -1, .short_at = -1 };
    if (folder == NULL)
        return;
    if (realpath(folder, disk.folder) == NULL)
        abort();
    add_node(true);
    scan(disk.folder, ROOT);
}

long disk_log_length(void)
{
    return disk.log_length;
}

long disk_calls(void)
{
    return disk.calls;
}

long disk_failures(void)
{
    return disk.failures;
}

const char *disk_log_text(long at)
{
    static const char *const kinds[] = { "write",  "truncate", "sync",    "link",
                                         "unlink", "move",     "exchange" };
    static char text[2 * NAME_BYTES + 100];
    const change *c = &disk.log[at];
    snprintf(text, sizeof text, "%s node %d %s%s%s at %zu, %zu bytes", kinds[c->kind], c->node,
             c->name, c->to[0] != '\0' ? " to " : "", c->to, c->offset, c->content.size);
    return text;
}

/* ---- the calls ---- */

/* False: the call fails, with errno. */
static bool may_change(void)
{
    const long number = disk.calls;
    if (disk_fault.point != NULL)
        disk_fault.point();
    if (disk_fault.dead) {
        errno = EIO;
        return false;
    }
    disk.calls++;
    if (disk_fault.fails_at < 0 || number < disk_fault.fails_at ||
        number - disk_fault.fails_at > disk_fault.calls)
        return true;
    disk.failures++;
    errno = disk_fault.error;
    return false;
}

static int node_of(int descriptor)
{
    if (descriptor < 0 || descriptor >= DISK_DESCRIPTORS)
        return NO_NODE;
    return disk.opened[descriptor] - 1;
}

int disk_open(int directory, const char *path, int flags, mode_t mode)
{
    char name[NAME_BYTES];
    const int folder = folder_of(directory, path, name);
    if (folder == NO_NODE || name[0] == '\0') {
        const int opened = (int)syscall(SYS_openat, directory, path, flags, mode);
        if (folder == ROOT && opened >= 0 && opened < DISK_DESCRIPTORS)
            disk.opened[opened] = ROOT + 1;
        return opened;
    }
    entry *known = find(&disk.now, folder, name);
    const bool creates = (flags & O_CREAT) != 0 && known == NULL;
    const bool empties = (flags & O_TRUNC) != 0 && known != NULL;
    if ((creates || empties) && !may_change())
        return -1;
    const int opened = (int)syscall(SYS_openat, directory, path, flags, mode);
    if (opened < 0 || opened >= DISK_DESCRIPTORS)
        return opened;
    if (known == NULL) { /* made here, or by a way that is not seen */
        struct stat found = { 0 };
        fstat(opened, &found);
        change *c = add_change(LINKED, folder);
        c->other = add_node(S_ISDIR(found.st_mode));
        snprintf(c->name, sizeof c->name, "%s", name);
        name_changed(c);
        known = find(&disk.now, folder, name);
    }
    if (empties)
        add_change(TRUNCATED, known->node);
    disk.opened[opened] = known->node + 1;
    return opened;
}

static size_t size_taken(size_t size)
{
    return disk.writes++ == disk_fault.short_at && size > 1 ? size / 2 : size;
}

ssize_t disk_pwrite(int descriptor, const void *data, size_t size, off_t offset)
{
    const int node = node_of(descriptor);
    if (node == NO_NODE)
        return syscall(SYS_pwrite64, descriptor, data, size, offset);
    if (!may_change())
        return -1;
    const ssize_t put = syscall(SYS_pwrite64, descriptor, data, size_taken(size), offset);
    if (put > 0) {
        change *c = add_change(WRITTEN, node);
        c->offset = (size_t)offset;
        append(&c->content, data, (size_t)put);
    }
    return put;
}

ssize_t disk_write(int descriptor, const void *data, size_t size)
{
    const int node = node_of(descriptor);
    if (node == NO_NODE)
        return syscall(SYS_write, descriptor, data, size);
    const off_t offset = lseek(descriptor, 0, SEEK_CUR);
    const ssize_t put = disk_pwrite(descriptor, data, size, offset);
    if (put > 0)
        lseek(descriptor, offset + put, SEEK_SET);
    return put;
}

int disk_truncate(int descriptor, off_t size)
{
    const int node = node_of(descriptor);
    if (node != NO_NODE && !may_change())
        return -1;
    const int result = (int)syscall(SYS_ftruncate, descriptor, size);
    if (node != NO_NODE && result == 0)
        add_change(TRUNCATED, node)->offset = (size_t)size;
    return result;
}

/* What a file holds is taken from the file, so that what other programs wrote is in it. */
int disk_sync(int descriptor)
{
    const int node = node_of(descriptor);
    if (node == NO_NODE)
        return 0;
    if (!may_change())
        return -1;
    change *c = add_change(SYNCED, node);
    if (!disk.nodes[node].is_folder) {
        char link[64]; /* it may be open for writing alone */
        snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
        const int file = (int)syscall(SYS_open, link, O_RDONLY | O_CLOEXEC);
        read_whole(file, &c->content);
        syscall(SYS_close, file);
    }
    return 0;
}

int disk_rename(const char *from, const char *to, bool exchange)
{
    char name[NAME_BYTES], other[NAME_BYTES];
    const int folder = folder_of(AT_FDCWD, from, name), into = folder_of(AT_FDCWD, to, other);
    const unsigned flags = exchange ? RENAME_EXCHANGE : 0;
    if (folder != into)
        abort(); /* nothing here does so */
    if (folder != NO_NODE && !may_change())
        return -1;
    const int result = (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, flags);
    if (folder == NO_NODE || result != 0)
        return result;
    change *c = add_change(exchange ? EXCHANGED : MOVED, folder);
    snprintf(c->name, sizeof c->name, "%s", name);
    snprintf(c->to, sizeof c->to, "%s", other);
    name_changed(c);
    return 0;
}

int disk_unlink(int directory, const char *path, int flags)
{
    char name[NAME_BYTES];
    const int folder = folder_of(directory, path, name);
    if (folder != NO_NODE && !may_change())
        return -1;
    const int result = (int)syscall(SYS_unlinkat, directory, path, flags);
    if (folder == NO_NODE || result != 0)
        return result;
    change *c = add_change(UNLINKED, folder);
    snprintf(c->name, sizeof c->name, "%s", name);
    name_changed(c);
    return 0;
}

static void folder_made(int folder, const char *name)
{
    change *c = add_change(LINKED, folder);
    c->other = add_node(true);
    snprintf(c->name, sizeof c->name, "%s", name);
    name_changed(c);
}

int disk_mkdir(const char *path, mode_t mode)
{
    char name[NAME_BYTES];
    const int folder = folder_of(AT_FDCWD, path, name);
    if (folder != NO_NODE && !may_change())
        return -1;
    const int result = (int)syscall(SYS_mkdir, path, mode);
    if (folder != NO_NODE && result == 0)
        folder_made(folder, name);
    return result;
}

char *disk_mkdtemp(char *template)
{
    static unsigned number;
    char *end = template + strlen(template) - 6;
    for (int attempt = 0; attempt < 100000; attempt++) {
        snprintf(end, 7, "%06u", ++number % 1000000);
        if (disk_mkdir(template, 0700) == 0)
            return template;
        if (errno != EEXIST)
            return NULL;
    }
    return NULL;
}

int disk_close(int descriptor)
{
    if (descriptor >= 0 && descriptor < DISK_DESCRIPTORS)
        disk.opened[descriptor] = 0;
    return (int)syscall(SYS_close, descriptor);
}

/* ---- after a crash ---- */

/* A number below n. */
static unsigned draw(uint64_t *random, unsigned n)
{
    *random = *random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(*random >> 33) % n;
}

static long last_sync(int node, long length)
{
    for (long i = length - 1; i >= 0; i--)
        if (disk.log[i].kind == SYNCED && disk.log[i].node == node)
            return i;
    return -1;
}

static bool is_of_names(const change *c)
{
    return c->kind >= LINKED;
}

/* Up to where the unsynchronised changes of a folder survive: a change's number. */
static long surviving_end(int folder, long length, uint64_t *random)
{
    const long from = last_sync(folder, length);
    long count = 0;
    for (long i = from + 1; i < length; i++)
        count += is_of_names(&disk.log[i]) && disk.log[i].node == folder;
    const unsigned choice = draw(random, 3);
    long kept = choice == 0 ? 0 : choice == 1 ? count : (long)draw(random, (unsigned)count + 1);
    for (long i = from + 1; i < length; i++)
        if (is_of_names(&disk.log[i]) && disk.log[i].node == folder && kept-- == 0)
            return i;
    return length;
}

static void surviving_names(long length, uint64_t *random, names *left)
{
    long *ends = cse_calloc((size_t)disk.node_count, sizeof *ends);
    for (int n = 0; n < disk.node_count; n++)
        ends[n] = disk.nodes[n].is_folder ? surviving_end(n, length, random) : 0;
    for (int i = 0; i < disk.first.count; i++)
        put(left, disk.first.items[i].folder, disk.first.items[i].name, disk.first.items[i].node);
    for (long i = 0; i < length; i++)
        if (is_of_names(&disk.log[i]) && i < ends[disk.log[i].node])
            apply_name(left, &disk.log[i]);
    free(ends);
}

static void resize(bytes *content, size_t size)
{
    static const unsigned char zeros[BLOCK_BYTES];
    while (content->size < size)
        append(content, zeros,
               size - content->size < BLOCK_BYTES ? size - content->size : BLOCK_BYTES);
    content->size = size;
}

static void survive(bytes *content, const change *c, unsigned mode, uint64_t *random)
{
    const size_t size = c->content.size, cut = draw(random, (unsigned)size + 1);
    resize(content, content->size > c->offset + size ? content->size : c->offset + size);
    for (size_t at = 0; at < size; at += BLOCK_BYTES) {
        const size_t end = at + BLOCK_BYTES < size ? at + BLOCK_BYTES : size;
        size_t last = end;
        if (mode == 1)
            last = cut < end ? cut : end;
        else if (mode == 2 && draw(random, 2) == 0)
            last = at;
        if (last > at)
            memcpy(content->data + c->offset + at, c->content.data + at, last - at);
    }
}

/* Of a node's writes since it was synchronised: all, none, up to a torn one, or any blocks. */
static void surviving_bytes(int node, long length, uint64_t *random, bytes *content)
{
    const long from = last_sync(node, length);
    const bytes *base = from >= 0 ? &disk.log[from].content : &disk.nodes[node].content;
    append(content, base->data, base->size);
    const unsigned how = draw(random, 4);
    for (long i = from + 1; i < length && how > 0; i++) {
        const change *c = &disk.log[i];
        if (c->node != node || is_of_names(c) || (how == 3 && draw(random, 3) == 0))
            continue;
        const bool torn = how == 2 && draw(random, 4) == 0;
        if (c->kind == TRUNCATED)
            resize(content, c->offset);
        else if (c->kind == WRITTEN)
            survive(content, c, torn ? 1 : how == 3 ? 2 : 0, random);
        if (torn)
            break;
    }
}

static void make_folder(const names *left, int folder, const char *path, long length,
                        uint64_t *random)
{
    for (int i = 0; i < left->count; i++) {
        const entry *e = &left->items[i];
        char below[DISK_PATH_BYTES];
        if (e->folder != folder)
            continue;
        snprintf(below, sizeof below, "%.4000s/%s", path, e->name);
        if (disk.nodes[e->node].is_folder) {
            syscall(SYS_mkdir, below, 0700);
            make_folder(left, e->node, below, length, random);
            continue;
        }
        bytes content = { 0 };
        surviving_bytes(e->node, length, random, &content);
        const int file = (int)syscall(SYS_open, below, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        if (file < 0 || (content.size > 0 && syscall(SYS_write, file, content.data, content.size) !=
                                                 (ssize_t)content.size))
            abort();
        syscall(SYS_close, file);
        free(content.data);
    }
}

void disk_crash(long length, uint64_t seed, const char *folder)
{
    names left = { 0 };
    uint64_t random = seed * UINT64_C(0x9E3779B97F4A7C15) + 1;
    surviving_names(length, &random, &left);
    make_folder(&left, ROOT, folder, length, &random);
    free(left.items);
}

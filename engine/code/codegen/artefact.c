/* Every file is opened once, relative to the directory's descriptor; its owner, mode and size are
 * those of the open file, and the bytes that are hashed are the bytes that are kept. */
#include "engine/code/codegen/artefact.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/storage.h"

enum { MANIFEST_BYTES = 2048, KEY_BYTES = 128 };

/* A kernel may be set to refuse files in memory that could be executed as programs; one that is
 * mapped as a library need not be. The C library's header may not know the flag yet. */
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif

static const char manifest_name[] = "manifest";

const char *const cse_artefact_names[CSE_ARTEFACT_FILES] = {
    [CSE_ARTEFACT_PLAN] = "step.plan",
    [CSE_ARTEFACT_KERNELS] = "kernels.txt",
    [CSE_ARTEFACT_SOURCE] = "step.c",
    [CSE_ARTEFACT_OBJECT] = "step.so",
};

typedef struct file_facts {
    bool present;
    uint64_t bytes;
    char digest[CSE_ARTEFACT_DIGITS + 1];
} file_facts;

typedef struct manifest {
    char key[KEY_BYTES];
    file_facts files[CSE_ARTEFACT_FILES];
} manifest;

static void digest_of(const char *bytes, size_t size, char digits[CSE_ARTEFACT_DIGITS + 1])
{
    unsigned char hash[CSE_ARTEFACT_DIGITS / 2];
    crypto_generichash(hash, sizeof hash, (const unsigned char *)bytes, size, NULL, 0);
    sodium_bin2hex(digits, CSE_ARTEFACT_DIGITS + 1, hash, sizeof hash);
}

/* ---- the manifest as text ---- */

static void print_manifest(const manifest *m, cse_text *text, char digest[CSE_ARTEFACT_DIGITS + 1])
{
    cse_text_add(text, "csengine artefact 1\nkey %s\n", m->key);
    for (int f = 0; f < CSE_ARTEFACT_FILES; f++)
        if (m->files[f].present)
            cse_text_add(text, "file %s %" PRIu64 " %s\n", cse_artefact_names[f], m->files[f].bytes,
                         m->files[f].digest);
    digest_of(text->data, text->size, digest);
    cse_text_add(text, "manifest %s\n", digest);
}

/* Takes what it can; whether it understood everything shows when the result is printed again. */
static void scan_manifest(const char *text, manifest *m)
{
    char name[32];
    file_facts facts = { .present = true };
    for (const char *line = text; line != NULL && *line != '\0'; line = strchr(line, '\n')) {
        line += *line == '\n';
        sscanf(line, "key %127[0-9a-z]", m->key);
        if (sscanf(line, "file %31s %" SCNu64 " %64[0-9a-f]", name, &facts.bytes, facts.digest) !=
            3)
            continue;
        for (int f = 0; f < CSE_ARTEFACT_FILES; f++)
            if (strcmp(name, cse_artefact_names[f]) == 0)
                m->files[f] = facts;
    }
}

static bool parse_manifest(const cse_text *text, manifest *m, char digest[CSE_ARTEFACT_DIGITS + 1])
{
    cse_text again = { 0 };
    *m = (manifest){ .key = "" };
    if (text->size == 0 || strlen(text->data) != text->size)
        return false;
    scan_manifest(text->data, m);
    print_manifest(m, &again, digest);
    bool same = again.size == text->size && memcmp(again.data, text->data, text->size) == 0;
    cse_text_clear(&again);
    return same && m->files[CSE_ARTEFACT_PLAN].present && m->files[CSE_ARTEFACT_KERNELS].present &&
           m->files[CSE_ARTEFACT_SOURCE].present;
}

/* ---- reading ---- */

static cse_status refuse(const char *directory, const char *name, const char *why)
{
    return cse_fail(CSE_DATA,
                    "compiled step: %s%s%s: %s; the next start of a run compiles it again",
                    directory, *name != '\0' ? "/" : "", name, why);
}

/* Why an open file or directory may not be trusted; NULL when it may. */
static const char *distrust(const struct stat *facts)
{
    if (facts->st_uid != geteuid() && facts->st_uid != 0)
        return "belongs to another user";
    if ((facts->st_mode & (S_IWGRP | S_IWOTH)) != 0)
        return "may be written by others than its owner";
    return NULL;
}

static cse_status open_directory(const char *directory, int *descriptor)
{
    struct stat facts;
    *descriptor = open(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (*descriptor < 0 && errno == ENOENT)
        return cse_fail(CSE_NO_INPUT, "compiled step: %s: %s", directory, strerror(errno));
    if (*descriptor < 0)
        return refuse(directory, "", strerror(errno));
    const char *why = fstat(*descriptor, &facts) != 0 ? strerror(errno) : distrust(&facts);
    if (why == NULL)
        return CSE_OK;
    close(*descriptor);
    return refuse(directory, "", why);
}

/* Adds all bytes of the open file to `text`; false when they are not `bytes` many. */
static bool read_bytes(int file, uint64_t bytes, cse_text *text)
{
    cse_text_reserve(text, (size_t)bytes + 2);
    while (text->size <= bytes) {
        ssize_t got = read(file, text->data + text->size, (size_t)bytes + 1 - text->size);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        text->size += (size_t)got;
    }
    text->data[text->size] = '\0';
    return text->size == bytes;
}

typedef struct reading {
    const char *path;
    int directory;
} reading;

/* Reads a file of at most `most` bytes; `exact`: of as many. */
static cse_status read_file(const reading *r, const char *name, uint64_t most, bool exact,
                            cse_text *text)
{
    struct stat facts;
    int file = openat(r->directory, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (file < 0)
        return refuse(r->path, name, strerror(errno));
    const char *why = fstat(file, &facts) != 0 ? strerror(errno) : distrust(&facts);
    if (why == NULL && !S_ISREG(facts.st_mode))
        why = "is no regular file";
    const uint64_t bytes = why == NULL ? (uint64_t)facts.st_size : 0;
    if (why == NULL && (bytes > most || (exact && bytes != most)))
        why = "does not have the size that the manifest gives";
    if (why == NULL && !read_bytes(file, bytes, text))
        why = "changed while it was read";
    close(file);
    return why == NULL ? CSE_OK : refuse(r->path, name, why);
}

static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

static cse_status read_files(const reading *r, const manifest *m, cse_artefact *artefact)
{
    char digest[CSE_ARTEFACT_DIGITS + 1];
    for (int f = 0; f < CSE_ARTEFACT_FILES; f++) {
        const char *name = cse_artefact_names[f];
        cse_text *text = &artefact->files[f];
        if (!m->files[f].present)
            continue;
        CSE_TRY(read_file(r, name, m->files[f].bytes, true, text));
        digest_of(text->data, text->size, digest);
        if (strcmp(digest, m->files[f].digest) != 0)
            return refuse(r->path, name, "is damaged: its BLAKE2b digest does not match");
    }
    artefact->compiled = m->files[CSE_ARTEFACT_OBJECT].present;
    return CSE_OK;
}

static cse_status read_all(const reading *r, const char *digest, cse_artefact *artefact)
{
    manifest m;
    cse_text text = { 0 };
    cse_status status = read_file(r, manifest_name, MANIFEST_BYTES, false, &text);
    if (status == CSE_OK && !parse_manifest(&text, &m, artefact->digest))
        status = refuse(r->path, manifest_name, "is damaged, or of another version");
    cse_text_clear(&text);
    CSE_TRY(status);
    if (strcmp(m.key, name_of(r->path)) != 0)
        return refuse(r->path, manifest_name, "is that of another step");
    if (digest != NULL && strcmp(digest, artefact->digest) != 0)
        return refuse(r->path, manifest_name,
                      "is not the one that this run was started with: it was compiled again");
    return read_files(r, &m, artefact);
}

cse_status cse_artefact_read(const char *directory, const char *digest, cse_artefact *artefact)
{
    reading r = { .path = directory };
    *artefact = (cse_artefact){ .compiled = false };
    if (sodium_init() < 0)
        return cse_fail(CSE_INTERNAL, "libsodium cannot be initialized");
    CSE_TRY(open_directory(directory, &r.directory));
    cse_status status = read_all(&r, digest, artefact);
    close(r.directory);
    if (status != CSE_OK)
        cse_artefact_clear(artefact);
    return status;
}

void cse_artefact_clear(cse_artefact *artefact)
{
    for (int f = 0; f < CSE_ARTEFACT_FILES; f++)
        cse_text_clear(&artefact->files[f]);
    *artefact = (cse_artefact){ .compiled = false };
}

/* ---- writing ---- */

static cse_status cannot_write(const char *path, const char *name)
{
    const int error = errno;
    cse_text file = { 0 };
    cse_text_add(&file, "%s/%s", path, name);
    const cse_status status = cse_storage_fail(file.data, error);
    cse_text_clear(&file);
    return status;
}

/* A write may take a part only; what is wrong with the rest the next one says. */
static bool write_whole(int file, const cse_text *text)
{
    for (size_t done = 0; done < text->size;) {
        ssize_t written = write(file, text->data + done, text->size - done);
        if (written < 0 && errno != EINTR)
            return false;
        done += written > 0 ? (size_t)written : 0;
    }
    return true;
}

/* Takes the rights of others, where a program of the user's has left them any. A confined process
 * may change no modes; it makes files without such rights. */
static bool keep_private(int file)
{
    struct stat facts;
    return fstat(file, &facts) == 0 &&
           ((facts.st_mode & 0077) == 0 || fchmod(file, facts.st_mode & 0700) == 0);
}

/* Makes a complete file durable, and takes its facts. */
static cse_status settle_file(const reading *r, const char *name, file_facts *facts)
{
    cse_text text = { 0 };
    struct stat found;
    int file = openat(r->directory, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    *facts = (file_facts){ .present = file >= 0 };
    if (file < 0)
        return errno == ENOENT ? CSE_OK : cannot_write(r->path, name);
    bool good = fstat(file, &found) == 0 && keep_private(file) &&
                read_bytes(file, facts->bytes = (uint64_t)found.st_size, &text) && fsync(file) == 0;
    cse_status status = good ? CSE_OK : cannot_write(r->path, name);
    digest_of(text.data != NULL ? text.data : "", text.size, facts->digest);
    cse_text_clear(&text);
    close(file);
    return status;
}

static cse_status write_manifest(const reading *r, const manifest *m)
{
    char digest[CSE_ARTEFACT_DIGITS + 1];
    cse_text text = { 0 };
    int file = openat(r->directory, manifest_name,
                      O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (file < 0)
        return cannot_write(r->path, manifest_name);
    print_manifest(m, &text, digest);
    bool good = write_whole(file, &text) && keep_private(file) && fsync(file) == 0;
    cse_status status = good ? CSE_OK : cannot_write(r->path, manifest_name);
    cse_text_clear(&text);
    close(file);
    return status;
}

cse_status cse_artefact_seal(const char *directory, const char *key)
{
    manifest m = { .key = "" };
    reading r = { .path = directory,
                  .directory = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC) };
    if (r.directory < 0)
        return cannot_write(directory, manifest_name);
    snprintf(m.key, sizeof m.key, "%s", key);
    cse_status status = CSE_OK;
    for (int f = 0; f < CSE_ARTEFACT_FILES && status == CSE_OK; f++)
        status = settle_file(&r, cse_artefact_names[f], &m.files[f]);
    if (status == CSE_OK)
        status = write_manifest(&r, &m);
    /* Some file systems do not support fsync of a directory and return EINVAL. */
    if (status == CSE_OK &&
        (!keep_private(r.directory) || (fsync(r.directory) != 0 && errno != EINVAL)))
        status = cannot_write(directory, manifest_name);
    close(r.directory);
    return status;
}

/* ---- the object ---- */

static bool fill(int file, const cse_text *text)
{
    return write_whole(file, text) &&
           fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) == 0;
}

cse_status cse_artefact_object_new(const cse_artefact *artefact, int *descriptor)
{
    const unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
    *descriptor = memfd_create("step.so", flags);
    if (*descriptor < 0 && errno == EACCES)
        *descriptor = memfd_create("step.so", flags | MFD_NOEXEC_SEAL);
    if (*descriptor >= 0 && fill(*descriptor, &artefact->files[CSE_ARTEFACT_OBJECT]))
        return CSE_OK;
    cse_status status =
        cse_fail(CSE_TEMPORARY, "compiled step: no memory for step.so: %s", strerror(errno));
    if (*descriptor >= 0)
        close(*descriptor);
    *descriptor = -1;
    return status;
}

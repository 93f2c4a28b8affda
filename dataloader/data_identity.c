/* Input functions open their files as they like, through byte_source.h, which tells each here; the
 * watch of the loader that this thread is opening is what they are compared with. */
#include "dataloader/data_identity.h"

#include <fcntl.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dataloader/data_file.h"
#include "engine/base/arena.h"
#include "engine/base/confinement.h"

enum { SHOWN_DIGITS = 20 };

static _Thread_local const cse_data_watch *watch;

void cse_data_identity_clear(cse_data_identity *identity)
{
    for (int i = 0; i < identity->count; i++)
        free(identity->files[i].path);
    free(identity->files);
    *identity = (cse_data_identity){ 0 };
}

/* ---- as text ---- */

static void print_path(const char *path, cse_text *text)
{
    for (const unsigned char *at = (const unsigned char *)path; *at != '\0'; at++)
        if (*at <= ' ' || *at == '%' || *at == 127)
            cse_text_add(text, "%%%02X", *at);
        else
            cse_text_add_bytes(text, (const char *)at, 1);
}

void cse_data_identity_print(const cse_data_identity *identity, cse_text *text)
{
    cse_text_add(text, "%s", "");
    for (int i = 0; i < identity->count; i++) {
        const cse_data_file *f = &identity->files[i];
        cse_text_add(text, "%s %s %" PRId64 " %" PRId64 " %" PRId64 " %" PRIu64 " %" PRIu64 " ",
                     f->training ? "train" : "validation", f->digest, f->bytes, f->modified_ns,
                     f->changed_ns, f->device, f->inode);
        print_path(f->path, text);
        cse_text_add(text, "\n");
    }
}

static char *read_path(const char *from, size_t length)
{
    char *path = cse_calloc(1, length + 1), *to = path;
    for (size_t i = 0; i < length; i++) {
        unsigned code = 0;
        if (from[i] == '%' && i + 2 < length && sscanf(from + i + 1, "%2x", &code) == 1)
            i += 2;
        else
            code = (unsigned char)from[i];
        *to++ = (char)code;
    }
    return path;
}

static bool parse_line(const char *line, size_t length, cse_data_file *file)
{
    char role[16];
    int path_at = 0;
    *file = (cse_data_file){ .path = NULL };
    if (sscanf(line, "%15s %79s %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNu64 " %" SCNu64 " %n",
               role, file->digest, &file->bytes, &file->modified_ns, &file->changed_ns,
               &file->device, &file->inode, &path_at) != 7 ||
        path_at == 0 || (size_t)path_at >= length)
        return false;
    file->training = strcmp(role, "train") == 0;
    file->path = read_path(line + path_at, length - (size_t)path_at);
    return file->training || strcmp(role, "validation") == 0;
}

bool cse_data_identity_parse(const char *text, cse_data_identity *identity)
{
    *identity = (cse_data_identity){ 0 };
    while (*text != '\0') {
        const size_t length = strcspn(text, "\n");
        CSE_GROW(identity->files, identity->count, identity->capacity);
        if (!parse_line(text, length, &identity->files[identity->count++])) {
            cse_data_identity_clear(identity);
            return false;
        }
        text += length + (text[length] == '\n');
    }
    return true;
}

/* ---- differences ---- */

static void tell(const cse_data_file *before, const cse_data_file *now, const char *when,
                 cse_text *text)
{
    cse_text_add(text, "%s: %" PRId64 " bytes, %.*s %s, now %" PRId64 " bytes, %.*s", now->path,
                 before->bytes, SHOWN_DIGITS, before->digest, when, now->bytes, SHOWN_DIGITS,
                 now->digest);
}

/* The next file of the role from `i` on, or NULL. */
static const cse_data_file *next(const cse_data_identity *identity, bool training, int *i)
{
    while (*i < identity->count && identity->files[*i].training != training)
        (*i)++;
    return *i < identity->count ? &identity->files[(*i)++] : NULL;
}

bool cse_data_identity_differs(const cse_data_identity *before, const cse_data_identity *now,
                               bool training, cse_text *what)
{
    for (int i = 0, k = 0;;) {
        const cse_data_file *a = next(before, training, &i), *b = next(now, training, &k);
        if (a == NULL && b == NULL)
            return false;
        if (a == NULL || b == NULL)
            cse_text_add(what, "%s: only %s", a != NULL ? a->path : b->path,
                         a != NULL ? "before" : "now");
        else if (strcmp(a->digest, b->digest) != 0 || a->bytes != b->bytes)
            tell(a, b, "before", what);
        else
            continue;
        return true;
    }
}

void cse_data_identity_digest(const cse_data_identity *identity, char digits[65])
{
    unsigned char bytes[32];
    crypto_generichash_state hash;
    crypto_generichash_init(&hash, NULL, 0, sizeof bytes);
    for (int i = 0; i < identity->count; i++)
        if (identity->files[i].training) {
            const char *digest = identity->files[i].digest;
            crypto_generichash_update(&hash, (const unsigned char *)digest, strlen(digest) + 1);
        }
    crypto_generichash_final(&hash, bytes, sizeof bytes);
    sodium_bin2hex(digits, 65, bytes, sizeof bytes);
}

/* ---- comparing what is opened ---- */

static cse_data_file *find(const cse_data_identity *identity, const char *path)
{
    for (int i = 0; i < identity->count; i++)
        if (strcmp(identity->files[i].path, path) == 0)
            return &identity->files[i];
    return NULL;
}

static cse_status changed(const cse_data_file *before, const cse_data_file *now)
{
    cse_text text = { 0 };
    tell(before, now, "when the run began", &text);
    cse_status status =
        cse_fail(CSE_DATA,
                 "the data changed under the run: %s; put the file back and start the run again, "
                 "or train on the new data with another model_dir or --new_data",
                 text.data);
    cse_text_clear(&text);
    return status;
}

/* The content decides where size, times or inode are others. What it has now is kept, so that it is
 * read once. */
static cse_status compare(int descriptor, cse_data_file *known, cse_data_file *now)
{
    if (cse_data_file_same_facts(known, now))
        return CSE_OK;
    CSE_TRY(cse_data_file_digest(descriptor, known->path, now));
    now->path = known->path;
    now->training = known->training;
    if (known->bytes != now->bytes || strcmp(known->digest, now->digest) != 0)
        return changed(known, now);
    *known = *now;
    return CSE_OK;
}

cse_status cse_data_note_open(int descriptor, const char *path)
{
    cse_data_file now;
    if (watch == NULL)
        return CSE_OK;
    cse_data_identity *identity = watch->identity;
    CSE_TRY(cse_data_file_examine(descriptor, path, &now));
    cse_data_file *known = find(identity, path);
    if (known == NULL && watch->complete)
        return cse_fail(CSE_DATA,
                        "the data changed under the run: %s: this run did not read a file of this "
                        "name when it began; move it away and start the run again",
                        path);
    if (known != NULL) {
        CSE_TRY(compare(descriptor, known, &now));
    } else {
        CSE_TRY(cse_data_file_cached_digest(descriptor, path, watch->cache, &now));
        CSE_GROW(identity->files, identity->count, identity->capacity);
        known = &identity->files[identity->count++];
        *known = now;
        known->path = cse_strdup(path);
    }
    known->opened = true;
    return CSE_OK;
}

/* Input functions have read what they keep when they return: a file that changed meanwhile may have
 * been read in part before that and in part after it. */
static cse_status check_still_same(const cse_data_file *file)
{
    cse_data_file now;
    int descriptor = cse_confined_open(CSE_PATH_INPUT, file->path, O_RDONLY | O_NONBLOCK, 0);
    bool same = descriptor >= 0 && cse_data_file_examine(descriptor, file->path, &now) == CSE_OK &&
                cse_data_file_same_facts(file, &now);
    if (descriptor >= 0)
        close(descriptor);
    return same ? CSE_OK
                : cse_fail(CSE_DATA,
                           "%s: the file changed while it was read; start the run again when it "
                           "is complete",
                           file->path);
}

cse_status cse_data_open(const cse_settings *settings, uint64_t default_seed,
                         const cse_data_watch *wanted, cse_dataloader **loader)
{
    cse_data_identity *identity = wanted->identity;
    for (int i = 0; i < identity->count; i++)
        identity->files[i].opened = false;
    watch = wanted;
    cse_status status = cse_dataloader_open(settings, default_seed, loader);
    watch = NULL;
    for (int i = 0; i < identity->count && status == CSE_OK; i++)
        if (identity->files[i].opened)
            status = check_still_same(&identity->files[i]);
    if (status != CSE_OK && *loader != NULL)
        cse_dataloader_close(loader);
    return status;
}

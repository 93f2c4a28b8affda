/* A list with few entries, in the order in which the files were first opened. */
#include "dataloader/identity/data_identity.h"

#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"

enum { SHOWN_DIGITS = 20 };

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

void cse_data_file_tell(const cse_data_file *before, const cse_data_file *now, const char *when,
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
            cse_data_file_tell(a, b, "before", what);
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

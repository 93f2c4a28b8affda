/* A made token is written to a file that did not exist before and renamed, so that nobody ever sees
 * a part of it, or waits for it at a name of theirs. */
#include "dashboard/access/token.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/arena.h"
#include "engine/base/log.h"
#include "engine/base/text.h"

enum { MAX_TOKEN = 4096, MIN_TOKEN = 16, RANDOM_BYTES = 32, MAX_FILE = 64 << 10 };

cse_status cse_token_file_read(const char *path, char **text)
{
    struct stat about;
    *text = NULL;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return cse_fail(errno == EACCES ? CSE_PERMISSION : CSE_NO_INPUT,
                        "token file %s: %s; make one with: (umask 077; openssl rand -hex 32 > %s)",
                        path, strerror(errno), path);
    char *buffer = cse_calloc(MAX_FILE + 2, 1);
    ssize_t size = fstat(file, &about) == 0 ? read(file, buffer, MAX_FILE + 1) : -1;
    const int code = errno;
    close(file);
    *text = buffer;
    if (size < 0)
        return cse_fail(CSE_IO, "token file %s: %s", path, strerror(code));
    if (!S_ISREG(about.st_mode) || (about.st_mode & 077) != 0)
        return cse_fail(CSE_PERMISSION,
                        "token file %s: others may read it (mode %03o); accepted is a file that "
                        "its owner alone may read: chmod 600 %s",
                        path, (unsigned)(about.st_mode & 0777), path);
    if (size > MAX_FILE || strlen(buffer) != (size_t)size)
        return cse_fail(CSE_DATA, "token file %s: accepted is text of at most %d bytes", path,
                        MAX_FILE);
    return CSE_OK;
}

cse_status cse_token_check(const char *token, const char *path, int line)
{
    const size_t size = strlen(token);
    bool printable = true;
    for (size_t i = 0; i < size; i++)
        printable = printable && token[i] > ' ' && token[i] < 127;
    if (size >= MIN_TOKEN && size <= MAX_TOKEN && printable)
        return CSE_OK;
    return cse_fail(CSE_DATA,
                    "token file %s, line %d: accepted is a token of %d to %d printable characters "
                    "without blanks",
                    path, line, MIN_TOKEN, MAX_TOKEN);
}

cse_status cse_token_read(const char *path, char **token)
{
    char *text = NULL;
    cse_status status = cse_token_file_read(path, &text);
    const size_t size = text != NULL ? strlen(text) : 0;
    if (text != NULL)
        text[strcspn(text, "\r\n")] = '\0';
    if (status == CSE_OK)
        status = cse_token_check(text, path, 1);
    if (status == CSE_OK)
        *token = cse_strdup(text);
    if (text != NULL)
        sodium_memzero(text, size);
    free(text);
    return status;
}

/* Whether the file is one of ours, which nobody else has written or could read. */
static bool is_private(const char *path)
{
    struct stat about;
    return lstat(path, &about) == 0 && S_ISREG(about.st_mode) && about.st_uid == geteuid() &&
           (about.st_mode & 077) == 0 && about.st_nlink == 1;
}

static bool write_token(const char *path, const char *token)
{
    cse_text part = { 0 };
    cse_text_add(&part, "%s.%ld", path, (long)getpid());
    unlink(part.data); /* of a process that had our number and was killed */
    int file = open(part.data, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    size_t size = strlen(token);
    bool written = file >= 0 && write(file, token, size) == (ssize_t)size &&
                   write(file, "\n", 1) == 1 && fchmod(file, 0600) == 0;
    if (file >= 0 && close(file) != 0)
        written = false;
    written = written && rename(part.data, path) == 0;
    int code = errno;
    if (!written && file >= 0)
        unlink(part.data);
    errno = code;
    cse_text_clear(&part);
    return written;
}

static char *new_token(void)
{
    unsigned char random[RANDOM_BYTES];
    char text[sodium_base64_ENCODED_LEN(RANDOM_BYTES, sodium_base64_VARIANT_URLSAFE_NO_PADDING)];
    randombytes_buf(random, sizeof random);
    sodium_bin2base64(text, sizeof text, random, sizeof random,
                      sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    char *token = cse_strdup(text);
    sodium_memzero(random, sizeof random);
    sodium_memzero(text, sizeof text);
    return token;
}

cse_status cse_token_make(const char *directory, bool reuse, char **token, char **path)
{
    cse_text name = { 0 };
    if (sodium_init() < 0)
        return cse_fail(CSE_INTERNAL, "libsodium cannot start");
    cse_text_add(&name, "%s/token", directory);
    *path = name.data;
    if (reuse && is_private(name.data) && cse_token_read(name.data, token) == CSE_OK)
        return CSE_OK;
    *token = new_token();
    if (write_token(name.data, *token))
        return CSE_OK;
    cse_log_line(CSE_LOG_WARNING,
                 "%s cannot be written: %s; the token stands only in the address that is printed",
                 name.data, strerror(errno));
    free(*path);
    *path = NULL;
    return CSE_OK;
}

void cse_token_clear(char **token)
{
    if (*token != NULL)
        sodium_memzero(*token, strlen(*token));
    free(*token);
    *token = NULL;
}

/* The file gets its name when it is complete; who comes second takes what is there. */
#include "workers/transports/socket_key.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

static void name_file(const char *path, char file[PATH_MAX])
{
    snprintf(file, PATH_MAX, "%s.key", path);
}

static bool read_key(const char *file, char key[CSE_SOCKET_KEY_DIGITS + 1])
{
    const int descriptor = open(file, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    const ssize_t size = descriptor >= 0 ? read(descriptor, key, CSE_SOCKET_KEY_DIGITS) : -1;
    if (descriptor >= 0)
        close(descriptor);
    key[CSE_SOCKET_KEY_DIGITS] = '\0';
    return size == CSE_SOCKET_KEY_DIGITS;
}

static bool choose(char key[CSE_SOCKET_KEY_DIGITS + 1])
{
    unsigned char bytes[CSE_SOCKET_KEY_DIGITS / 2];
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return false;
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(key + 2 * i, 3, "%02x", bytes[i]);
    return true;
}

static bool write_key(const char *file)
{
    char draft[PATH_MAX + 32], key[CSE_SOCKET_KEY_DIGITS + 1];
    snprintf(draft, sizeof draft, "%s.%ld", file, (long)gettid());
    const int descriptor = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (descriptor < 0)
        return false;
    bool good = choose(key) &&
                write(descriptor, key, CSE_SOCKET_KEY_DIGITS) == CSE_SOCKET_KEY_DIGITS &&
                (link(draft, file) == 0 || errno == EEXIST);
    const int error = errno;
    close(descriptor);
    unlink(draft);
    errno = error;
    return good;
}

cse_status cse_socket_key(const char *path, char key[CSE_SOCKET_KEY_DIGITS + 1])
{
    char file[PATH_MAX];
    name_file(path, file);
    if (read_key(file, key) || (write_key(file) && read_key(file, key)))
        return CSE_OK;
    return cse_fail(CSE_UNAVAILABLE, "the key of socket %s: %s", path, strerror(errno));
}

void cse_socket_key_remove(const char *path)
{
    char file[PATH_MAX];
    name_file(path, file);
    unlink(file);
}

bool cse_socket_key_is(const char *key, const char *shown)
{
    unsigned different = 0;
    for (int i = 0; i < CSE_SOCKET_KEY_DIGITS; i++)
        different |= (unsigned char)(key[i] ^ shown[i]);
    return different == 0;
}

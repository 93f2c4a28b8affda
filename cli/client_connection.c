/* Where the server is, and a connection to it, over libcurl.
 *
 * Redirects and proxies are disabled, so that the token is sent to no other server. */
#include "cli/client_connection.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/client_note.h"
#include "config.h"
#include "engine/base/arena.h"

enum { MAX_TOKEN_BYTES = 4096, CONNECT_TIMEOUT_MS = 5000 };

static cse_status read_token(const char *path, char **token)
{
    char line[MAX_TOKEN_BYTES + 2] = "";
    struct stat info;
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return cse_fail(errno == EACCES ? CSE_PERMISSION : CSE_NO_INPUT,
                        "token file %s cannot be opened: %s", path, strerror(errno));
    bool open_to_others = fstat(fileno(file), &info) == 0 && (info.st_mode & 077) != 0;
    bool read = fgets(line, sizeof line, file) != NULL;
    fclose(file);
    if (open_to_others)
        return cse_fail(CSE_PERMISSION,
                        "token file %s can be read by others (mode %03o); chmod 600 it", path,
                        (unsigned)(info.st_mode & 0777));
    line[strcspn(line, "\r\n")] = '\0';
    if (!read || *line == '\0' || strlen(line) > MAX_TOKEN_BYTES)
        return cse_fail(CSE_DATA, "token file %s: accepted: one line of 1 to %d characters", path,
                        MAX_TOKEN_BYTES);
    for (const char *c = line; *c != '\0'; c++)
        if (*c <= ' ' || *c > '~')
            return cse_fail(CSE_DATA, "token file %s: a token has printable characters only", path);
    *token = cse_strdup(line);
    return CSE_OK;
}

static cse_status set_address(cse_client *api, const char *server, const char *origin)
{
    api->server = cse_strdup(server);
    if (strncmp(server, "unix:", 5) == 0 && server[5] == '/') {
        api->socket = cse_strdup(server + 5);
        api->base = cse_strdup("http://localhost");
        return CSE_OK;
    }
    if (strncmp(server, "http://", 7) != 0 && strncmp(server, "https://", 8) != 0)
        return cse_fail(CSE_USAGE,
                        "%s: \"%s\" is no address of a server; accepted: http://HOST:PORT, "
                        "https://HOST:PORT, unix:/PATH, or the directory of a server",
                        origin, server);
    api->base = cse_strdup(server);
    size_t length = strlen(api->base);
    while (length > 0 && api->base[length - 1] == '/')
        api->base[--length] = '\0';
    return CSE_OK;
}

/* The given address, else that in server.json, which may also name the token's file. */
static cse_status find_server(const cse_command_line *line, cse_client *api, char *token_file,
                              size_t size)
{
    const char *environment = getenv("CSE_SERVER"), *given = cse_option_value(line, "server");
    const char *origin = given != NULL ? "--server" : "CSE_SERVER";
    cse_client_note note;
    struct stat info;
    if (given == NULL && environment != NULL && *environment != '\0')
        given = environment;
    bool is_root = given != NULL && stat(given, &info) == 0 && S_ISDIR(info.st_mode);
    if (given != NULL && !is_root)
        return set_address(api, given, origin);
    CSE_TRY(cse_client_note_read(given, &note));
    snprintf(token_file, size, "%s", note.token_file);
    return set_address(api, note.url, is_root ? origin : "the local server's note");
}

cse_status cse_client_open(const cse_command_line *line, cse_client **api)
{
    char noted[4096] = "";
    *api = cse_calloc(1, sizeof **api);
    curl_global_init(CURL_GLOBAL_DEFAULT);
    cse_status status = find_server(line, *api, noted, sizeof noted);
    const char *token_file = cse_option_value(line, "token_file");
    if (token_file == NULL)
        token_file = getenv("CSE_TOKEN_FILE");
    if (token_file == NULL || *token_file == '\0')
        token_file = noted;
    if (status == CSE_OK && *token_file != '\0')
        status = read_token(token_file, &(*api)->token);
    if (status == CSE_OK && ((*api)->curl = curl_easy_init()) == NULL)
        status = cse_fail(CSE_INTERNAL, "libcurl cannot be set up");
    if (status != CSE_OK)
        cse_client_close(api);
    return status;
}

void cse_client_close(cse_client **api)
{
    if (*api == NULL)
        return;
    if ((*api)->curl != NULL)
        curl_easy_cleanup((*api)->curl);
    free((*api)->server);
    free((*api)->base);
    free((*api)->socket);
    free((*api)->token);
    free((*api)->source);
    free(*api);
    *api = NULL;
    curl_global_cleanup();
}

const char *cse_client_server_view(const cse_client *api)
{
    return api->server;
}

void cse_client_name_source(cse_client *api, const char *source)
{
    free(api->source);
    api->source = cse_strdup(source);
}

struct curl_slist *cse_client_add_header(struct curl_slist *headers, const char *name,
                                         const char *value)
{
    cse_text line = { 0 };
    cse_text_add(&line, "%s: %s", name, value);
    headers = curl_slist_append(headers, line.data);
    cse_text_clear(&line);
    return headers;
}

struct curl_slist *cse_client_prepare(cse_client *api, const char *path, struct curl_slist *headers)
{
    cse_text url = { 0 };
    cse_text_add(&url, "%s%s", api->base, path);
    if (api->token != NULL) {
        cse_text value = { 0 };
        cse_text_add(&value, "Bearer %s", api->token);
        headers = cse_client_add_header(headers, "Authorization", value.data);
        cse_text_clear(&value);
    }
    curl_easy_reset(api->curl);
    curl_easy_setopt(api->curl, CURLOPT_URL, url.data);
    curl_easy_setopt(api->curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(api->curl, CURLOPT_USERAGENT, "csengine/" PACKAGE_VERSION);
    curl_easy_setopt(api->curl, CURLOPT_PROXY, "");
    curl_easy_setopt(api->curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(api->curl, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_TIMEOUT_MS);
    if (api->socket != NULL)
        curl_easy_setopt(api->curl, CURLOPT_UNIX_SOCKET_PATH, api->socket);
    cse_text_clear(&url);
    return headers;
}

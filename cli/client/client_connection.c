/* Where the server is, and a connection to it, over libcurl.
 *
 * Redirects and proxies are disabled, so that the token is sent to no other server. */
#include "cli/client/client_connection.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/client/client_note.h"
#include "config.h"
#include "engine/base/arena.h"
#include "engine/base/socket_path.h"

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
    line[strcspn(line, " \t\r\n")] = '\0'; /* a server's limits may follow */
    if (!read || *line == '\0' || strlen(line) > MAX_TOKEN_BYTES)
        return cse_fail(CSE_DATA, "token file %s: accepted: one line of 1 to %d characters", path,
                        MAX_TOKEN_BYTES);
    for (const char *c = line; *c != '\0'; c++)
        if (*c <= ' ' || *c > '~')
            return cse_fail(CSE_DATA, "token file %s: a token has printable characters only", path);
    *token = cse_strdup(line);
    return CSE_OK;
}

static cse_status set_socket(cse_client *api, const char *path)
{
    char name[CSE_SOCKET_PATH_BYTES];
    CSE_TRY(cse_socket_path(path, name, &api->directory));
    api->socket = cse_strdup(name);
    api->base = cse_strdup("http://localhost");
    return CSE_OK;
}

static cse_status set_address(cse_client *api, const char *server, const char *origin)
{
    api->server = cse_strdup(server);
    if (strncmp(server, "unix:", 5) == 0 && server[5] == '/')
        return set_socket(api, server + 5);
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

/* A noted server is called over its unix socket where we may use that, which takes no token. */
static cse_status set_noted(cse_client *api, const cse_client_note *note, const char *origin)
{
    snprintf(api->token_file, sizeof api->token_file, "%s", note->token_file);
    if (*note->socket == '\0' || access(note->socket, R_OK | W_OK) != 0)
        return set_address(api, note->url, origin);
    api->server = cse_strdup(note->url);
    return set_socket(api, note->socket);
}

/* The token of an address that the server started last has, which is on this machine. */
static void find_token_of(cse_client *api)
{
    cse_client_note note;
    if (cse_client_note_read(NULL, &note) == CSE_OK && strcmp(note.url, api->base) == 0)
        snprintf(api->token_file, sizeof api->token_file, "%s", note.token_file);
}

/* The given address, else that in server.json, which also names the token's file. */
static cse_status find_server(const cse_command_line *line, cse_client *api)
{
    const char *environment = getenv("CSE_SERVER"), *given = cse_option_value(line, "server");
    const char *origin = given != NULL ? "--server" : "CSE_SERVER";
    cse_client_note note;
    struct stat info;
    if (given == NULL && environment != NULL && *environment != '\0')
        given = environment;
    bool is_root = given != NULL && stat(given, &info) == 0 && S_ISDIR(info.st_mode);
    if (given != NULL && !is_root) {
        CSE_TRY(set_address(api, given, origin));
        find_token_of(api);
        return CSE_OK;
    }
    CSE_TRY(cse_client_note_read(given, &note));
    return set_noted(api, &note, is_root ? origin : "the local server's note");
}

/* A socket that we found beside a TCP address: its server knows us by our user. */
static bool is_own_socket(const cse_client *api)
{
    return api->socket != NULL && api->server != NULL && strncmp(api->server, "unix:", 5) != 0;
}

cse_status cse_client_open(const cse_command_line *line, cse_client **api)
{
    *api = cse_calloc(1, sizeof **api);
    (*api)->directory = -1;
    curl_global_init(CURL_GLOBAL_DEFAULT);
    cse_status status = find_server(line, *api);
    const char *token_file = cse_option_value(line, "token_file");
    if (token_file == NULL)
        token_file = getenv("CSE_TOKEN_FILE");
    if (token_file == NULL || *token_file == '\0')
        token_file = is_own_socket(*api) ? "" : (*api)->token_file;
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
    if ((*api)->directory >= 0)
        close((*api)->directory);
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

const char *cse_client_token_file_view(const cse_client *api)
{
    return api->token_file;
}

void cse_client_add_sign_in(const char *token_file, cse_text *address)
{
    char *token = NULL;
    if (*token_file == '\0' || read_token(token_file, &token) != CSE_OK)
        return;
    cse_text_add(address, "?token=");
    cse_url_encode(address, token);
    free(token);
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

void cse_url_encode(cse_text *url, const char *word)
{
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
    for (; *word != '\0'; word++) {
        if (strchr(plain, *word) != NULL)
            cse_text_add_bytes(url, word, 1);
        else
            cse_text_add(url, "%%%02X", (unsigned)(unsigned char)*word);
    }
}

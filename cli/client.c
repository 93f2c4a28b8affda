/* Where the server is, and one call to it, over libcurl.
 *
 * Redirections are not followed and proxies not used: the token goes to the server that was named
 * and to nobody else. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/client_internal.h"
#include "config.h"
#include "engine/base/arena.h"

enum {
    MAX_ANSWER_BYTES = 64 << 20,
    MAX_TOKEN_BYTES = 4096,
    CONNECT_TIMEOUT_MS = 5000,
    CALL_TIMEOUT_MS = 120000,
    RETRIES = 3,
};

/* ---- where the server is ---- */

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
        return cse_fail(CSE_DATA, "token file %s: one line of 1 to %d characters belongs there",
                        path, MAX_TOKEN_BYTES);
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

/* An address that somebody gave, else the note of a server; `token_file` then also from there. */
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
    CSE_TRY(cse_client_find(given, &note));
    snprintf(token_file, size, "%s", note.token_file);
    return set_address(api, note.url, is_root ? origin : "the local server's note");
}

cse_status cse_client_open(const cse_command_line *line, cse_client **api)
{
    char noted[4096] = "";
    *api = cse_calloc(1, sizeof **api);
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

/* ---- one call ---- */

static struct curl_slist *add_header(struct curl_slist *headers, const char *name,
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
        headers = add_header(headers, "Authorization", value.data);
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

static size_t take_body(char *bytes, size_t one, size_t size, void *self)
{
    cse_client_answer *answer = self;
    (void)one;
    if (answer->body.size + size > MAX_ANSWER_BYTES)
        return 0;
    cse_text_add_bytes(&answer->body, bytes, size);
    return size;
}

static size_t take_header(char *bytes, size_t one, size_t size, void *self)
{
    cse_client_answer *answer = self;
    (void)one;
    if (size > 5 && strncasecmp(bytes, "ETag:", 5) == 0) {
        size_t from = 5, to = size;
        while (from < to && bytes[from] == ' ')
            from++;
        while (to > from && (unsigned char)bytes[to - 1] <= ' ')
            to--;
        snprintf(answer->etag, sizeof answer->etag, "%.*s", (int)(to - from), bytes + from);
    }
    return size;
}

static CURLcode transfer(cse_client *api, const cse_client_request *request,
                         cse_client_answer *answer)
{
    const char *type = request->body_type != NULL ? request->body_type : "application/json";
    struct curl_slist *headers = curl_slist_append(NULL, "Accept: application/json, */*;q=0.5");
    char *body = request->body != NULL ? json_dumps(request->body, JSON_COMPACT) : NULL;
    if (body != NULL) {
        headers = add_header(headers, "Content-Type", type);
        headers = curl_slist_append(headers, "Expect:");
    }
    if (request->if_match != NULL)
        headers = add_header(headers, "If-Match", request->if_match);
    if (request->idempotency_key != NULL)
        headers = add_header(headers, "Idempotency-Key", request->idempotency_key);
    headers = cse_client_prepare(api, request->path, headers);
    const char *method = request->method != NULL ? request->method : "GET";
    if (body != NULL || strcmp(method, "POST") == 0)
        curl_easy_setopt(api->curl, CURLOPT_COPYPOSTFIELDS, body != NULL ? body : "");
    curl_easy_setopt(api->curl, CURLOPT_CUSTOMREQUEST, method);
    curl_easy_setopt(api->curl, CURLOPT_WRITEFUNCTION, take_body);
    curl_easy_setopt(api->curl, CURLOPT_WRITEDATA, answer);
    curl_easy_setopt(api->curl, CURLOPT_HEADERFUNCTION, take_header);
    curl_easy_setopt(api->curl, CURLOPT_HEADERDATA, answer);
    curl_easy_setopt(api->curl, CURLOPT_TIMEOUT_MS, (long)CALL_TIMEOUT_MS);
    CURLcode code = curl_easy_perform(api->curl);
    long status = 0;
    curl_easy_getinfo(api->curl, CURLINFO_RESPONSE_CODE, &status);
    answer->status = code == CURLE_OK ? (int)status : 0;
    curl_slist_free_all(headers);
    free(body);
    return code;
}

cse_status cse_client_call(cse_client *api, const cse_client_request *request,
                           cse_client_answer *answer)
{
    bool repeatable = request->method == NULL || strcmp(request->method, "GET") == 0 ||
                      strcmp(request->method, "PUT") == 0 || request->idempotency_key != NULL;
    *answer = (cse_client_answer){ 0 };
    CURLcode code = transfer(api, request, answer);
    for (int i = 0; i < RETRIES && repeatable; i++) {
        /* The server was there and went away: it may be starting anew. */
        if (code != CURLE_GOT_NOTHING && code != CURLE_RECV_ERROR && code != CURLE_SEND_ERROR)
            break;
        usleep(200000U << i);
        cse_client_answer_clear(answer);
        code = transfer(api, request, answer);
    }
    if (code != CURLE_OK)
        return cse_client_lost(api, code);
    if (answer->body.size > 0)
        answer->json = json_loadb(answer->body.data, answer->body.size, JSON_DECODE_ANY, NULL);
    return answer->status / 100 == 2 ? CSE_OK : cse_client_problem(api, answer);
}

void cse_client_answer_clear(cse_client_answer *answer)
{
    cse_text_clear(&answer->body);
    json_decref(answer->json);
    *answer = (cse_client_answer){ 0 };
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

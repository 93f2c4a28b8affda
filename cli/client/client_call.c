/* One call of the API, with the complete response in memory. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/client/client_connection.h"
#include "cli/terminal/json_values.h"

enum { MAX_ANSWER_BYTES = 64 << 20, CALL_TIMEOUT_MS = 120000, RETRIES = 3 };

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
        headers = cse_client_add_header(headers, "Content-Type", type);
        headers = curl_slist_append(headers, "Expect:");
    }
    if (request->if_match != NULL)
        headers = cse_client_add_header(headers, "If-Match", request->if_match);
    if (request->idempotency_key != NULL)
        headers = cse_client_add_header(headers, "Idempotency-Key", request->idempotency_key);
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
        /* The connection was lost: the server may be restarting. */
        if (code != CURLE_GOT_NOTHING && code != CURLE_RECV_ERROR && code != CURLE_SEND_ERROR)
            break;
        usleep(200000U << i);
        cse_client_answer_clear(answer);
        code = transfer(api, request, answer);
    }
    if (code != CURLE_OK)
        return cse_client_lost(api, code);
    if (answer->body.size > 0)
        answer->json = cse_json_from_others(answer->body.data, answer->body.size);
    return answer->status / 100 == 2 ? CSE_OK : cse_client_problem(api, answer);
}

void cse_client_answer_clear(cse_client_answer *answer)
{
    cse_text_clear(&answer->body);
    json_decref(answer->json);
    *answer = (cse_client_answer){ 0 };
}

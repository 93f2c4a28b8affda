/* Swaps the token for a cookie, for browsers: an event stream there cannot send headers. */
#include "dashboard/server.h"

static cse_access *access_of(const cse_request *request)
{
    return (cse_access *)(uintptr_t)cse_http_access_view(request->server->http);
}

static void answer_state(const cse_request *request, cse_answer *answer)
{
    cse_answer_json(answer, 200,
                    json_pack("{s:b, s:b}", "authenticated", (int)request->let_in, "required",
                              (int)cse_access_wants_token(access_of(request))));
}

static void create(const cse_request *request, cse_answer *answer)
{
    char cookie[CSE_COOKIE_BYTES];
    const cse_access *access = access_of(request);
    const char *token = json_string_value(json_object_get(request->body, "token"));
    if (!cse_access_token_is_right(access, token)) {
        cse_answer_problem(answer, CSE_PROBLEM_UNAUTHORIZED,
                           "this is not the token of the server's token file");
        return;
    }
    cse_answer_empty(answer, 204);
    if (!cse_access_wants_token(access))
        return;
    cse_access_new_cookie(access, cookie);
    cse_answer_header(answer, "Set-Cookie",
                      "csengine_session=%s; Path=/; HttpOnly; SameSite=Strict; Max-Age=%d", cookie,
                      CSE_SESSION_SECONDS);
}

static void forget(const cse_request *request, cse_answer *answer)
{
    if (request->cookie != NULL)
        cse_access_forget_cookie(access_of(request), request->cookie);
    cse_answer_empty(answer, 204);
    cse_answer_header(answer, "Set-Cookie",
                      "csengine_session=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0");
}

const cse_route cse_route_session = {
    .path = "/session",
    .operations = {
        { .id = "getSession", .handle = answer_state, .quick = true },
        { .id = "createSession", .handle = create, .quick = true },
        { .id = "deleteSession", .handle = forget, .quick = true },
        { 0 },
    },
};

/* Exchanges the token for a session cookie: event streams of browsers cannot send headers. */
#include "dashboard/http/sign_in.h"
#include "dashboard/server.h"

static cse_access *access_of(const cse_request *request)
{
    return (cse_access *)(uintptr_t)cse_http_access_view(request->server->http);
}

static json_t *limit_json(int64_t number)
{
    return number > 0 ? json_integer(number) : json_null();
}

static json_t *grant_json(const cse_grant *grant)
{
    return grant == NULL
               ? json_null()
               : json_pack("{s:s, s:o, s:o, s:o}", "name", grant->name, "cores",
                           limit_json(grant->cores), "memory_bytes",
                           limit_json(grant->memory_bytes), "jobs", limit_json(grant->jobs));
}

static void answer_state(const cse_request *request, cse_answer *answer)
{
    cse_answer_json(answer, 200,
                    json_pack("{s:b, s:b, s:o}", "authenticated", (int)request->authorized,
                              "required", (int)cse_access_wants_token(access_of(request)), "token",
                              grant_json(request->grant)));
}

static void create(const cse_request *request, cse_answer *answer)
{
    const cse_access *access = access_of(request);
    const char *token = json_string_value(json_object_get(request->body, "token"));
    const cse_grant *grant = cse_access_grant_of(access, token);
    if (grant == NULL) {
        cse_answer_problem(answer, CSE_PROBLEM_UNAUTHORIZED,
                           "this is not the token of the server's token file");
        return;
    }
    cse_answer_empty(answer, 204);
    cse_sign_in_add_cookie(access, grant, answer);
}

static void forget(const cse_request *request, cse_answer *answer)
{
    if (request->cookie != NULL)
        cse_access_forget_cookie(access_of(request), request->cookie);
    cse_answer_empty(answer, 204);
    cse_answer_header(answer, "Set-Cookie", "%s=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0",
                      cse_access_cookie_name_view(access_of(request)));
}

static const char schemas[] = "SessionRequest\n"
                              "  token string 1..4096\n"
                              "  = {\"token\": \"0123456789abcdef\"}\n"
                              "SessionState\n"
                              "  authenticated boolean\n"
                              "  required boolean  # whether this server wants a token over TCP\n"
                              "  token TokenGrant|null  # the caller's, where it has a name\n"
                              "TokenGrant  # What its holder may take; null: as the server has\n"
                              "  name string\n"
                              "  cores,memory_bytes integer|null  # of all its jobs that run\n"
                              "  jobs integer|null  # that have not ended\n";

const cse_route cse_route_session = {
    .path = "/session",
    .tag = "session",
    .schemas = schemas,
    .operations = {
        { CSE_OPERATION("GET", "getSession", answer_state, "Whether this browser is let in"),
          .replies = "200 SessionState",
          .open = true,
          .quick = true },
        { CSE_OPERATION("POST", "createSession", create,
                        "Swaps the token for a cookie (HttpOnly, SameSite=Strict)"),
          .body = "SessionRequest",
          .replies = "204 +Set-Cookie  # The cookie is set",
          .problems = "401",
          .open = true,
          .quick = true },
        { CSE_OPERATION("DELETE", "deleteSession", forget, "Forgets the cookie"),
          .replies = "204  # Forgotten",
          .open = true,
          .quick = true },
    },
};

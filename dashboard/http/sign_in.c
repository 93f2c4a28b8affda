/* The new address is the old one, still encoded, without the parameter. */
#include "dashboard/http/sign_in.h"

#include <string.h>

enum { MOST_COOKIES = 8, MOST_DROPPED = 4 };

void cse_sign_in_add_cookie(const cse_access *access, const cse_grant *grant, cse_answer *answer)
{
    char cookie[CSE_COOKIE_BYTES];
    cse_access_new_cookie(access, grant, cookie);
    cse_answer_header(answer, "Set-Cookie", "%s=%s; Path=/; HttpOnly; SameSite=Strict; Max-Age=%d",
                      cse_access_cookie_name_view(access), cookie, CSE_SESSION_SECONDS);
}

static void add_address(cse_text *address, const char *text)
{
    size_t path = strcspn(text, "?");
    cse_text_add(address, "%.*s", (int)path, text);
    char mark = '?';
    for (const char *at = text + path; *at != '\0';) {
        size_t size = strcspn(++at, "&");
        if (size > 0 && strncmp(at, "token=", 6) != 0) {
            cse_text_add(address, "%c%.*s", mark, (int)size, at);
            mark = '&';
        }
        at += size;
    }
}

/* A browser keeps the cookies of servers on other ports that are long gone, and sends them all: the
 * oldest, which stand first, are dropped before they fill the headers of a request. */
static void drop_old_cookies(const char *own, const char *cookies, cse_answer *answer)
{
    int count = 0, dropped = 0;
    size_t size = strlen(CSE_COOKIE_NAME);
    for (const char *at = cookies; (at = strstr(at, CSE_COOKIE_NAME)) != NULL; at += size)
        count++;
    for (const char *at = cookies; (at = strstr(at, CSE_COOKIE_NAME)) != NULL; at += size) {
        size_t length = size + strspn(at + size, "_0123456789");
        if (count - dropped <= MOST_COOKIES || dropped == MOST_DROPPED)
            return;
        if (at[length] != '=' || (length == strlen(own) && strncmp(at, own, length) == 0))
            continue;
        cse_answer_header(answer, "Set-Cookie", "%.*s=; Path=/; Max-Age=0", (int)length, at);
        dropped++;
    }
}

bool cse_sign_in(const cse_access *access, const cse_target *target, const char *text,
                 const char *cookies, cse_answer *answer)
{
    const char *token = NULL;
    for (int i = 0; i < target->query_count; i++)
        if (strcmp(target->query[i].name, "token") == 0)
            token = target->query[i].value;
    /* An encoded name would stay in the address, and the browser come back for ever. */
    if (token == NULL || (strstr(text, "?token=") == NULL && strstr(text, "&token=") == NULL))
        return false;
    cse_text address = { 0 };
    add_address(&address, text);
    cse_answer_empty(answer, 303);
    cse_answer_header(answer, "Location", "%s", address.data);
    cse_text_clear(&address);
    const cse_grant *grant = cse_access_grant_of(access, token);
    if (grant == NULL)
        return true;
    cse_sign_in_add_cookie(access, grant, answer);
    if (cookies != NULL)
        drop_old_cookies(cse_access_cookie_name_view(access), cookies, answer);
    return true;
}

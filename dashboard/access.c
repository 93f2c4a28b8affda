/* Tokens, cookies, host names.
 *
 * A cookie is "EXPIRY.NONCE.PROOF": seconds since 1970, a random number, and the authenticator
 * (HMAC-SHA-512-256) of both under a key made from the token. Secrets are compared in constant
 * time. */
#include "dashboard/access.h"

#include <pthread.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "dashboard/token.h"
#include "engine/base/arena.h"

enum { FORGOTTEN = 256, PROOF_TEXT = crypto_auth_BYTES * 2 + 1 };

static const char cookie_context[] = "csengine session cookie";

struct cse_access {
    char *token; /* NULL: nobody has one */
    char cookie_name[sizeof CSE_COOKIE_NAME + 12];
    unsigned char key[crypto_auth_KEYBYTES];
    char *host;
    char **host_names;
    int host_name_count;
    time_t (*clock)(void);
    pthread_mutex_t lock; /* of what follows */
    char forgotten[FORGOTTEN][PROOF_TEXT];
    int forgotten_count;
};

static time_t machine_clock(void)
{
    return time(NULL);
}

cse_status cse_access_new(const cse_access_options *options, cse_access **access)
{
    if (sodium_init() < 0)
        return cse_fail(CSE_INTERNAL, "libsodium cannot start");
    cse_access *a = cse_calloc(1, sizeof *a);
    pthread_mutex_init(&a->lock, NULL);
    if (options->host != NULL)
        a->host = cse_strdup(options->host);
    int count = 0;
    while (options->host_names != NULL && options->host_names[count] != NULL)
        count++;
    a->host_names = cse_calloc((size_t)count + 1, sizeof *a->host_names);
    for (int i = 0; i < count; i++)
        a->host_names[i] = cse_strdup(options->host_names[i]);
    a->host_name_count = count;
    a->clock = options->clock != NULL ? options->clock : machine_clock;
    if (options->port > 0)
        snprintf(a->cookie_name, sizeof a->cookie_name, "%s_%u", CSE_COOKIE_NAME, options->port);
    else
        snprintf(a->cookie_name, sizeof a->cookie_name, "%s", CSE_COOKIE_NAME);
    if (options->token != NULL)
        a->token = cse_strdup(options->token);
    if (a->token != NULL)
        crypto_generichash(a->key, sizeof a->key, (const unsigned char *)a->token, strlen(a->token),
                           (const unsigned char *)cookie_context, sizeof cookie_context - 1);
    *access = a;
    return CSE_OK;
}

void cse_access_destroy(cse_access **access)
{
    if (*access == NULL)
        return;
    cse_token_clear(&(*access)->token);
    free((*access)->host);
    for (int i = 0; i < (*access)->host_name_count; i++)
        free((*access)->host_names[i]);
    free((*access)->host_names);
    pthread_mutex_destroy(&(*access)->lock);
    free(*access);
    *access = NULL;
}

bool cse_access_wants_token(const cse_access *access)
{
    return access->token != NULL;
}

/* Digests are compared, so that the time taken does not depend on the token's length. */
bool cse_access_token_is_right(const cse_access *access, const char *token)
{
    unsigned char ours[32], theirs[32];
    if (access->token == NULL)
        return false;
    crypto_generichash(ours, sizeof ours, (const unsigned char *)access->token,
                       strlen(access->token), NULL, 0);
    crypto_generichash(theirs, sizeof theirs, (const unsigned char *)token, strlen(token), NULL, 0);
    return sodium_memcmp(ours, theirs, sizeof ours) == 0;
}

/* ---- cookies ---- */

const char *cse_access_cookie_name_view(const cse_access *access)
{
    return access->cookie_name;
}

static void prove(const cse_access *access, const char *text, size_t size, char proof[PROOF_TEXT])
{
    unsigned char code[crypto_auth_BYTES];
    crypto_auth(code, (const unsigned char *)text, size, access->key);
    sodium_bin2hex(proof, PROOF_TEXT, code, sizeof code);
}

void cse_access_new_cookie(const cse_access *access, char cookie[CSE_COOKIE_BYTES])
{
    char proof[PROOF_TEXT];
    unsigned char random[8];
    randombytes_buf(random, sizeof random);
    int length = snprintf(cookie, CSE_COOKIE_BYTES, "%lld.",
                          (long long)access->clock() + CSE_SESSION_SECONDS);
    sodium_bin2hex(cookie + length, CSE_COOKIE_BYTES - (size_t)length, random, sizeof random);
    size_t size = strlen(cookie);
    prove(access, cookie, size, proof);
    snprintf(cookie + size, CSE_COOKIE_BYTES - size, ".%s", proof);
}

static bool is_forgotten(cse_access *access, const char *proof)
{
    bool found = false;
    pthread_mutex_lock(&access->lock);
    for (int i = 0; i < access->forgotten_count && i < FORGOTTEN; i++)
        found = found || strcmp(access->forgotten[i], proof) == 0;
    pthread_mutex_unlock(&access->lock);
    return found;
}

static bool cookie_is_right(cse_access *access, const char *cookie)
{
    char proof[PROOF_TEXT];
    const char *dot = strrchr(cookie, '.');
    char *end = NULL;
    long long expiry = strtoll(cookie, &end, 10);
    if (dot == NULL || end == cookie || *end != '.' || end == dot)
        return false;
    prove(access, cookie, (size_t)(dot - cookie), proof);
    if (strlen(dot + 1) != PROOF_TEXT - 1 || sodium_memcmp(proof, dot + 1, PROOF_TEXT - 1) != 0)
        return false;
    return expiry > (long long)access->clock() && !is_forgotten(access, proof);
}

void cse_access_forget_cookie(cse_access *access, const char *cookie)
{
    if (access->token == NULL || !cookie_is_right(access, cookie))
        return;
    pthread_mutex_lock(&access->lock);
    int at = access->forgotten_count++ % FORGOTTEN;
    snprintf(access->forgotten[at], PROOF_TEXT, "%s", strrchr(cookie, '.') + 1);
    pthread_mutex_unlock(&access->lock);
}

bool cse_access_authorizes(cse_access *access, const char *authorization, const char *cookie)
{
    if (access->token == NULL)
        return false;
    if (authorization != NULL)
        return strncasecmp(authorization, "Bearer ", 7) == 0 &&
               cse_access_token_is_right(access, authorization + 7);
    return cookie != NULL && cookie_is_right(access, cookie);
}

/* ---- names ---- */

bool cse_address_is_loopback(const char *host)
{
    return strcasecmp(host, "localhost") == 0 || strcmp(host, "::1") == 0 ||
           (strncmp(host, "127.", 4) == 0 && strspn(host, "0123456789.") == strlen(host));
}

/* "name:port" or "[::1]:port" without the port and the brackets. */
static bool host_name(const char *host, char *name, size_t size)
{
    const char *end = host + strcspn(host, ":");
    if (*host == '[') {
        host++;
        end = strchr(host, ']');
        if (end == NULL || (end[1] != '\0' && end[1] != ':'))
            return false;
    }
    const char *port = strchr(end, ':');
    if (port != NULL && strspn(port + 1, "0123456789") != strlen(port + 1))
        return false;
    if (end == host || (size_t)(end - host) >= size)
        return false;
    memcpy(name, host, (size_t)(end - host));
    name[end - host] = '\0';
    return true;
}

bool cse_access_host_is_ours(const cse_access *access, const char *host, bool over_socket)
{
    char name[256];
    if (host == NULL || !host_name(host, name, sizeof name))
        return false;
    if (cse_address_is_loopback(name))
        return over_socket || access->host == NULL || cse_address_is_loopback(access->host) ||
               strcmp(access->host, "0.0.0.0") == 0 || strcmp(access->host, "::") == 0;
    if (access->host != NULL && strcasecmp(name, access->host) == 0)
        return true;
    for (int i = 0; i < access->host_name_count; i++)
        if (strcasecmp(name, access->host_names[i]) == 0)
            return true;
    return false;
}

bool cse_access_origin_is_ours(const char *origin, const char *host)
{
    if (origin == NULL)
        return true;
    if (strncasecmp(origin, "http://", 7) == 0)
        origin += 7;
    else if (strncasecmp(origin, "https://", 8) == 0)
        origin += 8;
    else
        return false; /* "null": a page without an origin */
    return host != NULL && strcasecmp(origin, host) == 0;
}

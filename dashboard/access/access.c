/* Tokens, cookies, host names.
 *
 * A cookie is "EXPIRY.NONCE.PROOF": seconds since 1970, a random number, and the authenticator
 * (HMAC-SHA-512-256) of both under a key made from the token. Secrets are compared in constant
 * time. */
#include "dashboard/access/access.h"

#include <pthread.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "dashboard/access/token.h"
#include "engine/base/arena.h"

enum { DIGEST_BYTES = 32, FORGOTTEN = 256, PROOF_TEXT = crypto_auth_BYTES * 2 + 1 };

static const char cookie_context[] = "csengine session cookie";

struct cse_access {
    cse_token_list list;
    unsigned char digests[CSE_MOST_TOKENS][DIGEST_BYTES];
    unsigned char keys[CSE_MOST_TOKENS][crypto_auth_KEYBYTES]; /* of cookies, by token */
    char cookie_name[sizeof CSE_COOKIE_NAME + 12];
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

static void digest_of(const char *token, unsigned char digest[DIGEST_BYTES])
{
    crypto_generichash(digest, DIGEST_BYTES, (const unsigned char *)token, strlen(token), NULL, 0);
}

static void add_tokens(cse_access *access, const cse_token_list *tokens)
{
    for (int i = 0; tokens != NULL && i < tokens->count; i++) {
        const char *token = tokens->tokens[i];
        cse_token_list_add(&access->list, token);
        access->list.grants[i] = tokens->grants[i];
        digest_of(token, access->digests[i]);
        crypto_generichash(access->keys[i], sizeof access->keys[i], (const unsigned char *)token,
                           strlen(token), (const unsigned char *)cookie_context,
                           sizeof cookie_context - 1);
    }
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
    add_tokens(a, options->tokens);
    *access = a;
    return CSE_OK;
}

void cse_access_destroy(cse_access **access)
{
    if (*access == NULL)
        return;
    cse_token_list_clear(&(*access)->list);
    sodium_memzero((*access)->keys, sizeof(*access)->keys);
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
    return access->list.count > 0;
}

/* Digests are compared, so that the time taken does not depend on a token's length; all of them, so
 * that it does not tell which one was right. */
const cse_grant *cse_access_grant_of(const cse_access *access, const char *token)
{
    unsigned char digest[DIGEST_BYTES];
    int found = -1;
    digest_of(token, digest);
    for (int i = 0; i < access->list.count; i++)
        if (sodium_memcmp(access->digests[i], digest, sizeof digest) == 0)
            found = i;
    return found >= 0 ? &access->list.grants[found] : NULL;
}

/* ---- cookies ---- */

const char *cse_access_cookie_name_view(const cse_access *access)
{
    return access->cookie_name;
}

static void prove(const unsigned char *key, const char *text, size_t size, char proof[PROOF_TEXT])
{
    unsigned char code[crypto_auth_BYTES];
    crypto_auth(code, (const unsigned char *)text, size, key);
    sodium_bin2hex(proof, PROOF_TEXT, code, sizeof code);
}

void cse_access_new_cookie(const cse_access *access, const cse_grant *grant,
                           char cookie[CSE_COOKIE_BYTES])
{
    char proof[PROOF_TEXT];
    unsigned char random[8];
    randombytes_buf(random, sizeof random);
    int length = snprintf(cookie, CSE_COOKIE_BYTES, "%lld.",
                          (long long)access->clock() + CSE_SESSION_SECONDS);
    sodium_bin2hex(cookie + length, CSE_COOKIE_BYTES - (size_t)length, random, sizeof random);
    size_t size = strlen(cookie);
    prove(access->keys[grant - access->list.grants], cookie, size, proof);
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

/* Whose it is: the proof is one under the key of a token. */
static const cse_grant *prover_of(const cse_access *access, const char *cookie, size_t size,
                                  const char *given)
{
    int found = -1;
    if (strlen(given) != PROOF_TEXT - 1)
        return NULL;
    for (int i = 0; i < access->list.count; i++) {
        char proof[PROOF_TEXT];
        prove(access->keys[i], cookie, size, proof);
        if (sodium_memcmp(proof, given, PROOF_TEXT - 1) == 0)
            found = i;
    }
    return found >= 0 ? &access->list.grants[found] : NULL;
}

static const cse_grant *grant_of_cookie(cse_access *access, const char *cookie)
{
    const char *dot = strrchr(cookie, '.');
    char *end = NULL;
    long long expiry = strtoll(cookie, &end, 10);
    if (dot == NULL || end == cookie || *end != '.' || end == dot)
        return NULL;
    const cse_grant *grant = prover_of(access, cookie, (size_t)(dot - cookie), dot + 1);
    if (grant == NULL || expiry <= (long long)access->clock() || is_forgotten(access, dot + 1))
        return NULL;
    return grant;
}

void cse_access_forget_cookie(cse_access *access, const char *cookie)
{
    if (grant_of_cookie(access, cookie) == NULL)
        return;
    pthread_mutex_lock(&access->lock);
    int at = access->forgotten_count++ % FORGOTTEN;
    snprintf(access->forgotten[at], PROOF_TEXT, "%s", strrchr(cookie, '.') + 1);
    pthread_mutex_unlock(&access->lock);
}

const cse_grant *cse_access_authorizes(cse_access *access, const char *authorization,
                                       const char *cookie)
{
    if (authorization != NULL)
        return strncasecmp(authorization, "Bearer ", 7) == 0
                   ? cse_access_grant_of(access, authorization + 7)
                   : NULL;
    return cookie != NULL ? grant_of_cookie(access, cookie) : NULL;
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

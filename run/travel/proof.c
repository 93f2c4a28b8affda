/* What is signed is the text of the member "proof", as JSON with sorted keys and no blanks. */
#include "run/travel/proof.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/directory.h"
#include "engine/formats/weights/json_file.h"

/* A point has less than 100 bytes, a link less than 1000. */
enum { MOST_PROOF_BYTES = 1 << 24 };
enum { FORM = 1, HEX_CHAIN = 2 * CSE_CHAIN_BYTES + 1, PUBLIC_BYTES = crypto_sign_PUBLICKEYBYTES };

/* ---- keys ---- */

cse_status cse_proof_key_path(char path[PATH_MAX])
{
    const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    const bool given = config != NULL && config[0] == '/';
    if (!given && (home == NULL || home[0] != '/'))
        return cse_fail(CSE_NO_INPUT, "no folder for the key of proofs: set HOME");
    const int length = snprintf(path, PATH_MAX, "%s%s/csengine/proof.key", given ? config : home,
                                given ? "" : "/.config");
    return length < PATH_MAX ? CSE_OK
                             : cse_fail(CSE_NO_INPUT, "the path of the key of proofs is too long");
}

static cse_status read_key(const char *path, unsigned char key[crypto_sign_SECRETKEYBYTES])
{
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return cse_fail(CSE_NO_INPUT, "%s: %s", path, strerror(errno));
    const bool whole = read(file, key, crypto_sign_SECRETKEYBYTES) == crypto_sign_SECRETKEYBYTES;
    close(file);
    return whole
               ? CSE_OK
               : cse_fail(CSE_DATA, "%s: no key of proofs; remove it, and a new one is made", path);
}

/* Another process may make it at the same time: the file that is there first counts. */
static cse_status make_key(const char *path, unsigned char key[crypto_sign_SECRETKEYBYTES])
{
    char part[PATH_MAX + 16], folder[PATH_MAX];
    unsigned char public_key[PUBLIC_BYTES];
    snprintf(folder, sizeof folder, "%s", path);
    *strrchr(folder, '/') = '\0';
    CSE_TRY(cse_make_directories("key of proofs", folder));
    crypto_sign_keypair(public_key, key);
    snprintf(part, sizeof part, "%s.%ld", path, (long)getpid());
    const int file = open(part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    const bool written =
        file >= 0 && write(file, key, crypto_sign_SECRETKEYBYTES) == crypto_sign_SECRETKEYBYTES;
    const bool closed = file >= 0 && close(file) == 0;
    const bool linked = written && closed && (link(part, path) == 0 || errno == EEXIST);
    const int failure = errno;
    unlink(part);
    return linked ? read_key(path, key)
                  : cse_fail(CSE_CANNOT_CREATE, "%s: %s", path, strerror(failure));
}

static cse_status own_key(unsigned char key[crypto_sign_SECRETKEYBYTES])
{
    char path[PATH_MAX];
    CSE_TRY(cse_proof_key_path(path));
    return access(path, F_OK) == 0 ? read_key(path, key) : make_key(path, key);
}

/* ---- making one ---- */

static void hex(const unsigned char chain[CSE_CHAIN_BYTES], char digits[HEX_CHAIN])
{
    sodium_bin2hex(digits, HEX_CHAIN, chain, CSE_CHAIN_BYTES);
}

/* Steps spread over the run, its last one among them. */
static json_t *points_of(const cse_run_chain *chain)
{
    json_t *points = json_array();
    const int64_t every = (chain->count + CSE_PROOF_POINTS - 1) / CSE_PROOF_POINTS;
    for (int64_t i = chain->count - 1; i >= 0; i -= every) {
        char digits[HEX_CHAIN];
        hex(chain->steps[i].chain, digits);
        json_array_insert_new(points, 0,
                              json_pack("[I, s]", (json_int_t)chain->steps[i].steps, digits));
    }
    return points;
}

static json_t *links_of(const cse_run_chain *chain)
{
    json_t *links = json_array();
    for (int i = 0; i < chain->link_count; i++) {
        char digits[HEX_CHAIN];
        hex(chain->links[i].before, digits);
        json_array_append_new(links, json_pack("[I, s, s]", (json_int_t)chain->links[i].step,
                                               digits, chain->links[i].text));
    }
    return links;
}

static char *text_of(const json_t *proof)
{
    return json_dumps(proof, JSON_COMPACT | JSON_SORT_KEYS);
}

static cse_status sign(const cse_run_chain *chain, cse_text *json)
{
    unsigned char key[crypto_sign_SECRETKEYBYTES], signature[crypto_sign_BYTES];
    char public_digits[2 * PUBLIC_BYTES + 1], digits[2 * crypto_sign_BYTES + 1];
    CSE_TRY(own_key(key));
    /* The public half is the last part of a secret key. */
    sodium_bin2hex(public_digits, sizeof public_digits,
                   key + crypto_sign_SECRETKEYBYTES - PUBLIC_BYTES, PUBLIC_BYTES);
    json_t *proof = json_pack("{s:i, s:o, s:o, s:s}", "csengine_proof", FORM, "points",
                              points_of(chain), "links", links_of(chain), "key", public_digits);
    char *text = text_of(proof);
    crypto_sign_detached(signature, NULL, (const unsigned char *)text, strlen(text), key);
    sodium_memzero(key, sizeof key);
    sodium_bin2hex(digits, sizeof digits, signature, sizeof signature);
    json_t *whole = json_pack("{s:o, s:s}", "proof", proof, "signature", digits);
    char *printed = json_dumps(whole, JSON_INDENT(1) | JSON_SORT_KEYS);
    cse_text_add(json, "%s\n", printed);
    free(printed);
    free(text);
    json_decref(whole);
    return CSE_OK;
}

static cse_status check_chain(const char *model_dir, const cse_run_chain *chain)
{
    int64_t broken = 0;
    if (chain->count == 0)
        return cse_fail(CSE_NO_INPUT, "%s: its steps have no digests (step_digests)", model_dir);
    if (!cse_run_chain_holds(chain, &broken))
        return cse_fail(CSE_DATA,
                        "%s: its chain is broken at step %" PRId64 ": its rows were changed, or "
                        "some are missing",
                        model_dir, broken);
    return CSE_OK;
}

cse_status cse_proof_make(const char *model_dir, cse_text *json)
{
    cse_run_chain chain = { .count = 0 };
    cse_status status = sodium_init() >= 0 ? cse_run_chain_read(model_dir, 0, 0, &chain)
                                           : cse_fail(CSE_INTERNAL, "libsodium does not start");
    if (status == CSE_OK)
        status = check_chain(model_dir, &chain);
    if (status == CSE_OK)
        status = sign(&chain, json);
    cse_run_chain_clear(&chain);
    return status;
}

/* ---- checking one ---- */

static cse_status read_proof(const char *path, json_t **whole)
{
    char message[1024];
    const cse_status status = cse_weights_read_json(path, MOST_PROOF_BYTES, whole);
    if (status != CSE_DATA)
        return status;
    snprintf(message, sizeof message, "%s", cse_error_message());
    return cse_fail(CSE_DATA, "no proof of a run: %s", message);
}

static cse_status check_signature(const char *path, const json_t *whole, cse_proof_check *check)
{
    unsigned char signature[crypto_sign_BYTES], key[PUBLIC_BYTES];
    size_t size = 0, key_size = 0;
    const json_t *proof = json_object_get(whole, "proof");
    const char *digits = json_string_value(json_object_get(whole, "signature"));
    const char *public_digits = json_string_value(json_object_get(proof, "key"));
    if (digits == NULL || public_digits == NULL ||
        json_integer_value(json_object_get(proof, "csengine_proof")) != FORM)
        return cse_fail(CSE_DATA, "%s: no proof of a run", path);
    char *text = text_of(proof);
    const bool good =
        sodium_hex2bin(signature, sizeof signature, digits, strlen(digits), NULL, &size, NULL) ==
            0 &&
        size == sizeof signature &&
        sodium_hex2bin(key, sizeof key, public_digits, strlen(public_digits), NULL, &key_size,
                       NULL) == 0 &&
        key_size == sizeof key &&
        crypto_sign_verify_detached(signature, (const unsigned char *)text, strlen(text), key) == 0;
    free(text);
    snprintf(check->key, sizeof check->key, "%s", public_digits);
    return good ? CSE_OK
                : cse_fail(CSE_DATA, "%s: its signature is not that of its key: it was changed",
                           path);
}

cse_status cse_proof_read(const char *path, json_t **proof, cse_proof_check *check)
{
    json_t *whole = NULL;
    *proof = NULL;
    *check = (cse_proof_check){ .last = 0 };
    if (sodium_init() < 0)
        return cse_fail(CSE_INTERNAL, "libsodium does not start");
    CSE_TRY(read_proof(path, &whole));
    const cse_status status = check_signature(path, whole, check);
    if (status == CSE_OK)
        *proof = json_incref(json_object_get(whole, "proof"));
    json_decref(whole);
    return status;
}

static cse_status check_points(const json_t *proof, const cse_run_chain *chain,
                               cse_proof_check *check)
{
    const json_t *point;
    size_t i;
    json_array_foreach(json_object_get(proof, "points"), i, point)
    {
        char digits[HEX_CHAIN] = "";
        const int64_t step = json_integer_value(json_array_get(point, 0));
        const char *wanted = json_string_value(json_array_get(point, 1));
        const cse_chain_step *row = cse_run_chain_at(chain, step);
        if (row != NULL)
            hex(row->chain, digits);
        if (wanted == NULL || strcmp(wanted, digits) != 0)
            return cse_fail(CSE_DATA,
                            "step %" PRId64 ": its chain is not that of the proof; the steps of "
                            "the proof up to %" PRId64 " are the run's",
                            step, check->last);
        check->first = check->last == 0 ? chain->steps[0].steps : check->first;
        check->last = step;
    }
    return check->last > 0 ? CSE_OK : cse_fail(CSE_DATA, "the proof is of no step");
}

/* Up to a random step, from the checkpoint before it, which a replay begins with in any case. */
static cse_status check_stretch(const char *model_dir, int num_csx, cse_proof_check *check)
{
    cse_replay replay;
    const uint32_t range = (uint32_t)(check->last - check->first + 1);
    const int64_t step = check->first + (int64_t)randombytes_uniform(range);
    cse_status status = cse_replay_run(
        &(cse_replay_options){
            .model_dir = model_dir, .step = step, .num_csx = num_csx, .latest = step - 1 },
        &replay);
    if (status == CSE_OK && replay.verdict != CSE_REPLAY_SAME)
        status = cse_fail(CSE_DATA, "steps %" PRId64 " to %" PRId64 ": %s", replay.from + 1, step,
                          replay.words.data);
    check->stretches += status == CSE_OK;
    check->steps += step - replay.from;
    cse_replay_clear(&replay);
    return status;
}

cse_status cse_proof_verify(const char *path, const char *model_dir, int64_t stretches, int num_csx,
                            cse_proof_check *check)
{
    cse_run_chain chain = { .count = 0 };
    json_t *proof = NULL;
    cse_status status = cse_proof_read(path, &proof, check);
    if (status == CSE_OK)
        status = cse_run_chain_read(model_dir, 0, 0, &chain);
    if (status == CSE_OK)
        status = check_chain(model_dir, &chain);
    if (status == CSE_OK)
        status = check_points(proof, &chain, check);
    for (int64_t i = 0; status == CSE_OK && i < stretches; i++)
        status = check_stretch(model_dir, num_csx, check);
    cse_run_chain_clear(&chain);
    json_decref(proof);
    return status;
}

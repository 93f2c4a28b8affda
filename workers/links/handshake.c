/* The messages of a handshake, what is checked in them, and what the keys are made of. */
#include "workers/links/handshake.h"

#include <string.h>

enum { VERSION = 1, NONCE_BYTES = 32, PUBLIC_BYTES = crypto_scalarmult_BYTES, LABEL_BYTES = 32 };

/* Where things stand in a hello; numbers are little endian. */
enum {
    AT_MAGIC = 0,
    AT_VERSION = 8,
    AT_ALGORITHMS = 10,
    AT_PLAIN = 11,
    AT_HOST = 12,
    AT_PEER = 14,
    AT_SESSION = 16,
    AT_NONCE = 24,
    AT_PUBLIC = AT_NONCE + NONCE_BYTES,
};
_Static_assert(AT_PUBLIC + PUBLIC_BYTES == CSE_HANDSHAKE_HELLO_BYTES, "a hello ends there");

static const char magic[] = "csehosts";

static void put(unsigned char *at, uint64_t number, int bytes)
{
    for (int i = 0; i < bytes; i++)
        at[i] = (unsigned char)(number >> (8 * i));
}

static uint64_t get(const unsigned char *at, int bytes)
{
    uint64_t number = 0;
    for (int i = 0; i < bytes; i++)
        number |= (uint64_t)at[i] << (8 * i);
    return number;
}

static unsigned char *own_hello(cse_handshake *h)
{
    return h->initiates ? h->initiator : h->acceptor;
}

static const unsigned char *other_hello(const cse_handshake *h)
{
    return h->initiates ? h->acceptor : h->initiator;
}

/* BLAKE2b, keyed with the run's key, of a label, both hellos and `more`. */
static void derive(const cse_handshake *h, const char *label, const unsigned char *more,
                   unsigned char result[32])
{
    unsigned char padded[LABEL_BYTES] = { 0 };
    crypto_generichash_state state;
    memcpy(padded, label, strnlen(label, LABEL_BYTES));
    crypto_generichash_init(&state, h->side->key, CSE_HOST_LINK_KEY_BYTES, 32);
    crypto_generichash_update(&state, padded, LABEL_BYTES);
    crypto_generichash_update(&state, h->initiator, CSE_HANDSHAKE_HELLO_BYTES);
    crypto_generichash_update(&state, h->acceptor, CSE_HANDSHAKE_HELLO_BYTES);
    if (more != NULL)
        crypto_generichash_update(&state, more, PUBLIC_BYTES);
    crypto_generichash_final(&state, result, 32);
    sodium_memzero(&state, sizeof state);
}

static void prove(const cse_handshake *h, bool initiator, unsigned char proof[32])
{
    derive(h, initiator ? "proof of the initiator" : "proof of the acceptor", NULL, proof);
}

static void make_hello(cse_handshake *h)
{
    unsigned char *hello = own_hello(h);
    memcpy(hello + AT_MAGIC, magic, AT_VERSION - AT_MAGIC);
    put(hello + AT_VERSION, VERSION, 2);
    hello[AT_ALGORITHMS] = (unsigned char)cse_frame_algorithms();
    hello[AT_PLAIN] = h->side->plain;
    put(hello + AT_HOST, (uint64_t)h->side->host, 2);
    put(hello + AT_PEER, (uint64_t)h->peer, 2);
    put(hello + AT_SESSION, h->side->session, 8);
    randombytes_buf(hello + AT_NONCE, NONCE_BYTES);
    randombytes_buf(h->secret, sizeof h->secret);
    crypto_scalarmult_base(hello + AT_PUBLIC, h->secret);
}

static cse_status check_hello(cse_handshake *h)
{
    const unsigned char *hello = other_hello(h);
    const cse_handshake_side *side = h->side;
    if (memcmp(hello + AT_MAGIC, magic, AT_VERSION - AT_MAGIC) != 0)
        return cse_fail(CSE_PERMISSION, "what speaks there is no host of a run");
    if (get(hello + AT_VERSION, 2) != VERSION)
        return cse_fail(CSE_PERMISSION,
                        "it speaks version %d of the hosts' protocol, and this program %d: install "
                        "the same version on all hosts",
                        (int)get(hello + AT_VERSION, 2), VERSION);
    int host = (int)get(hello + AT_HOST, 2), peer = (int)get(hello + AT_PEER, 2);
    if (h->initiates ? host != h->peer : host <= side->host || host >= side->host_count)
        return cse_fail(CSE_PERMISSION, "it says that it is host %d, which is not awaited there",
                        host);
    if (peer != side->host)
        return cse_fail(CSE_PERMISSION, "it looks for host %d, and this is host %d", peer,
                        side->host);
    if (hello[AT_PLAIN] != side->plain)
        return cse_fail(CSE_PERMISSION, "one of host %d and host %d encrypts, the other does not",
                        side->host, host);
    if ((hello[AT_ALGORITHMS] & cse_frame_algorithms()) == 0)
        return cse_fail(CSE_PERMISSION, "host %d and host %d know no common cipher", side->host,
                        host);
    if (get(hello + AT_SESSION, 8) != side->session)
        return cse_fail(CSE_TEMPORARY, "host %d is in another session", host);
    h->peer = host;
    return CSE_OK;
}

static cse_status check_proof(const cse_handshake *h, const unsigned char *proof)
{
    unsigned char right[CSE_HANDSHAKE_PROOF_BYTES];
    prove(h, !h->initiates, right);
    bool same = sodium_memcmp(proof, right, sizeof right) == 0;
    sodium_memzero(right, sizeof right);
    if (!same)
        return cse_fail(CSE_PERMISSION, "it does not have the key of this run");
    return CSE_OK;
}

void cse_handshake_begin(cse_handshake *handshake, const cse_handshake_side *side, int peer)
{
    memset(handshake, 0, sizeof *handshake);
    handshake->side = side;
    handshake->peer = peer;
    handshake->initiates = peer >= 0;
    if (!handshake->initiates) {
        handshake->expected = CSE_HANDSHAKE_HELLO_BYTES;
        return;
    }
    make_hello(handshake);
    memcpy(handshake->out, handshake->initiator, CSE_HANDSHAKE_HELLO_BYTES);
    handshake->out_bytes = CSE_HANDSHAKE_HELLO_BYTES;
    handshake->expected = CSE_HANDSHAKE_HELLO_BYTES + CSE_HANDSHAKE_PROOF_BYTES;
}

cse_status cse_handshake_take(cse_handshake *handshake, const unsigned char *bytes)
{
    cse_handshake *h = handshake;
    h->out_bytes = 0;
    if (h->initiates) {
        memcpy(h->acceptor, bytes, CSE_HANDSHAKE_HELLO_BYTES);
        CSE_TRY(check_hello(h));
        CSE_TRY(check_proof(h, bytes + CSE_HANDSHAKE_HELLO_BYTES));
        prove(h, true, h->out);
        h->out_bytes = CSE_HANDSHAKE_PROOF_BYTES;
        h->expected = 0;
    } else if (h->expected == CSE_HANDSHAKE_HELLO_BYTES) {
        memcpy(h->initiator, bytes, CSE_HANDSHAKE_HELLO_BYTES);
        CSE_TRY(check_hello(h));
        make_hello(h);
        memcpy(h->out, h->acceptor, CSE_HANDSHAKE_HELLO_BYTES);
        prove(h, false, h->out + CSE_HANDSHAKE_HELLO_BYTES);
        h->out_bytes = CSE_HANDSHAKE_HELLO_BYTES + CSE_HANDSHAKE_PROOF_BYTES;
        h->expected = CSE_HANDSHAKE_PROOF_BYTES;
    } else {
        CSE_TRY(check_proof(h, bytes));
        h->expected = 0;
    }
    return CSE_OK;
}

cse_status cse_handshake_finish(cse_handshake *handshake, cse_frame_cipher *sends,
                                cse_frame_cipher *receives)
{
    cse_handshake *h = handshake;
    unsigned char shared[PUBLIC_BYTES], key[CSE_FRAME_KEY_BYTES];
    const unsigned char *theirs = other_hello(h);
    if (crypto_scalarmult(shared, h->secret, theirs + AT_PUBLIC) != 0) {
        cse_handshake_end(h);
        return cse_fail(CSE_PERMISSION, "its public key is none");
    }
    cse_frame_algorithm algorithm =
        cse_frame_algorithm_of(theirs[AT_ALGORITHMS] & cse_frame_algorithms());
    derive(h, "from the initiator", shared, key);
    cse_frame_cipher_begin(h->initiates ? sends : receives, algorithm, h->side->plain, key);
    derive(h, "from the acceptor", shared, key);
    cse_frame_cipher_begin(h->initiates ? receives : sends, algorithm, h->side->plain, key);
    sodium_memzero(shared, sizeof shared);
    sodium_memzero(key, sizeof key);
    cse_handshake_end(h);
    return CSE_OK;
}

void cse_handshake_end(cse_handshake *handshake)
{
    sodium_memzero(handshake->secret, sizeof handshake->secret);
}

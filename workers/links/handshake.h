/* How two hosts prove each other that they have the key of the run, and agree on keys of their
 * connection.
 *
 *     initiator: hello                                acceptor: hello, proof
 *     initiator: proof
 *
 * A hello says who speaks to whom, in which session, what it can compute, and brings a random
 * nonce and a public key of X25519 that serve this connection alone. A proof is a BLAKE2b keyed
 * with the run's key of both hellos, with a label of its side: it cannot be reflected, nor
 * repeated, since the other side's nonce is new each time. The keys of the frames are made of the
 * run's key, both hellos and the secret that both public keys share: they are new each time, and
 * cannot be made later from recorded bytes and a run's key that became known.
 *
 * A hello may be refused by what it says, but nothing is done because of it: before the proof
 * nobody knows who speaks. All messages have fixed sizes. This is a state machine over bytes,
 * without a socket. */
#ifndef CSE_WORKERS_LINKS_HANDSHAKE_H
#define CSE_WORKERS_LINKS_HANDSHAKE_H

#include "workers/links/frame_cipher.h"
#include "workers/links/link.h"

enum {
    CSE_HANDSHAKE_HELLO_BYTES = 88,
    CSE_HANDSHAKE_PROOF_BYTES = 32,
    CSE_HANDSHAKE_MAX_BYTES = CSE_HANDSHAKE_HELLO_BYTES + CSE_HANDSHAKE_PROOF_BYTES,
};

/* What a side brings; borrowed until the end of the handshake. */
typedef struct cse_handshake_side {
    int host, host_count;
    uint64_t session;
    bool plain;
    unsigned char key[CSE_HOST_LINK_KEY_BYTES];
} cse_handshake_side;

typedef struct cse_handshake {
    const cse_handshake_side *side;
    bool initiates;
    int peer;        /* the host spoken to; -1: not known yet */
    size_t expected; /* bytes of the next message to be taken; 0: both have proved it all */
    unsigned char initiator[CSE_HANDSHAKE_HELLO_BYTES], acceptor[CSE_HANDSHAKE_HELLO_BYTES];
    unsigned char secret[crypto_scalarmult_SCALARBYTES];
    unsigned char out[CSE_HANDSHAKE_MAX_BYTES]; /* what is to be sent now */
    size_t out_bytes;
} cse_handshake;

/* `peer`: the host that is called; -1: a call is accepted. */
void cse_handshake_begin(cse_handshake *handshake, const cse_handshake_side *side, int peer);
/* Takes `expected` bytes; `out` is replaced by the answer. CSE_PERMISSION: refused;
 * CSE_TEMPORARY: refused, but would be let in with the same session. */
cse_status cse_handshake_take(cse_handshake *handshake, const unsigned char *bytes);
/* After the last message: keys of both directions. Wipes what is secret. */
cse_status cse_handshake_finish(cse_handshake *handshake, cse_frame_cipher *sends,
                                cse_frame_cipher *receives);
/* Wipes what is secret; at any time. */
void cse_handshake_end(cse_handshake *handshake);

#endif

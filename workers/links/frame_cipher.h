/* Frames as they are on the wire: nobody without the key of a connection can make, change, repeat,
 * leave out or reorder one.
 *
 *     length of the content (4 bytes, little endian) | content | tag (16 bytes)
 *
 * Each direction of a connection has a key of its own, and its frames are numbered from 0; the
 * number is the nonce, so it is never sent and never used twice with a key. The length is
 * authenticated with the content. An AEAD also authenticates data that it does not encrypt:
 * frames that others may read (`plain`) are such data as a whole, with no message. That is as
 * strong and three times as fast, and faster than a keyed BLAKE2b. */
#ifndef CSE_WORKERS_LINKS_FRAME_CIPHER_H
#define CSE_WORKERS_LINKS_FRAME_CIPHER_H

#include <sodium.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "csengine/status.h"

enum {
    CSE_FRAME_KEY_BYTES = 32,
    CSE_FRAME_LENGTH_BYTES = 4,
    CSE_FRAME_TAG_BYTES = 16,
    CSE_FRAME_OVERHEAD_BYTES = CSE_FRAME_LENGTH_BYTES + CSE_FRAME_TAG_BYTES,
};

/* Bits of a set. */
typedef enum cse_frame_algorithm {
    CSE_FRAME_CHACHA20_POLY1305 = 1,
    CSE_FRAME_AES256_GCM = 2, /* where the processor has instructions for it */
} cse_frame_algorithm;

typedef struct cse_frame_cipher {
    crypto_aead_aes256gcm_state aes;
    unsigned char key[CSE_FRAME_KEY_BYTES];
    uint64_t number; /* of the next frame */
    cse_frame_algorithm algorithm;
    bool plain;
} cse_frame_cipher;

/* What this processor computes. */
unsigned cse_frame_algorithms(void);
/* The faster one of a set that is not empty. */
cse_frame_algorithm cse_frame_algorithm_of(unsigned algorithms);

/* `cipher` lies at an address that 16 divides. */
void cse_frame_cipher_begin(cse_frame_cipher *cipher, cse_frame_algorithm algorithm, bool plain,
                            const unsigned char key[CSE_FRAME_KEY_BYTES]);
/* Wipes the keys. */
void cse_frame_cipher_end(cse_frame_cipher *cipher);

/* The content stands behind the room of the length, and has room for the tag behind it. */
void cse_frame_seal(cse_frame_cipher *cipher, unsigned char *frame, size_t content_bytes);

/* How large the frame is that begins here, of whose bytes `size` are there. CSE_TEMPORARY: that
 * needs more bytes; CSE_DATA: larger than any may be. */
cse_status cse_frame_measure(const unsigned char *frame, size_t size, size_t *content_bytes);
/* All bytes of the frame are there; its content can be read afterwards where it stands. CSE_DATA:
 * it is not what was sent, or not the next one; its bytes are of no meaning then. */
cse_status cse_frame_open(cse_frame_cipher *cipher, unsigned char *frame, size_t content_bytes);

#endif

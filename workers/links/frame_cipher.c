/* Sealing and opening of frames by libsodium's AEADs, in place. */
#include "workers/links/frame_cipher.h"

#include <string.h>

#include "workers/links/link.h"

enum { NONCE_BYTES = 12 };

_Static_assert(crypto_aead_aes256gcm_NPUBBYTES == NONCE_BYTES &&
                   crypto_aead_chacha20poly1305_ietf_NPUBBYTES == NONCE_BYTES,
               "both take the same nonce");
_Static_assert(crypto_aead_aes256gcm_ABYTES == CSE_FRAME_TAG_BYTES &&
                   crypto_aead_chacha20poly1305_ietf_ABYTES == CSE_FRAME_TAG_BYTES,
               "both give a tag of the same size");

/* The parts of a frame for an AEAD. */
typedef struct parts {
    unsigned char nonce[NONCE_BYTES];
    unsigned char *message, *tag;
    size_t message_bytes, data_bytes; /* the data begin with the frame */
} parts;

static parts parts_of(cse_frame_cipher *c, unsigned char *frame, size_t content_bytes)
{
    parts p = { .message = frame + CSE_FRAME_LENGTH_BYTES,
                .tag = frame + CSE_FRAME_LENGTH_BYTES + content_bytes,
                .message_bytes = c->plain ? 0 : content_bytes,
                .data_bytes = CSE_FRAME_LENGTH_BYTES + (c->plain ? content_bytes : 0) };
    uint64_t number = c->number++;
    for (int i = 0; i < 8; i++)
        p.nonce[NONCE_BYTES - 8 + i] = (unsigned char)(number >> (8 * i));
    return p;
}

unsigned cse_frame_algorithms(void)
{
    unsigned aes = crypto_aead_aes256gcm_is_available() ? CSE_FRAME_AES256_GCM : 0;
    return CSE_FRAME_CHACHA20_POLY1305 | aes;
}

cse_frame_algorithm cse_frame_algorithm_of(unsigned algorithms)
{
    return algorithms & CSE_FRAME_AES256_GCM ? CSE_FRAME_AES256_GCM : CSE_FRAME_CHACHA20_POLY1305;
}

void cse_frame_cipher_begin(cse_frame_cipher *cipher, cse_frame_algorithm algorithm, bool plain,
                            const unsigned char key[CSE_FRAME_KEY_BYTES])
{
    memset(cipher, 0, sizeof *cipher);
    memcpy(cipher->key, key, CSE_FRAME_KEY_BYTES);
    cipher->algorithm = algorithm;
    cipher->plain = plain;
    if (algorithm == CSE_FRAME_AES256_GCM)
        crypto_aead_aes256gcm_beforenm(&cipher->aes, key);
}

void cse_frame_cipher_end(cse_frame_cipher *cipher)
{
    sodium_memzero(cipher, sizeof *cipher);
}

void cse_frame_seal(cse_frame_cipher *cipher, unsigned char *frame, size_t content_bytes)
{
    for (int i = 0; i < CSE_FRAME_LENGTH_BYTES; i++)
        frame[i] = (unsigned char)(content_bytes >> (8 * i));
    parts p = parts_of(cipher, frame, content_bytes);
    if (cipher->algorithm == CSE_FRAME_AES256_GCM)
        crypto_aead_aes256gcm_encrypt_detached_afternm(p.message, p.tag, NULL, p.message,
                                                       p.message_bytes, frame, p.data_bytes, NULL,
                                                       p.nonce, &cipher->aes);
    else
        crypto_aead_chacha20poly1305_ietf_encrypt_detached(p.message, p.tag, NULL, p.message,
                                                           p.message_bytes, frame, p.data_bytes,
                                                           NULL, p.nonce, cipher->key);
}

cse_status cse_frame_measure(const unsigned char *frame, size_t size, size_t *content_bytes)
{
    if (size < CSE_FRAME_LENGTH_BYTES)
        return CSE_TEMPORARY;
    size_t length = 0;
    for (int i = 0; i < CSE_FRAME_LENGTH_BYTES; i++)
        length |= (size_t)frame[i] << (8 * i);
    if (length > CSE_HOST_LINK_MAX_BYTES)
        return cse_fail(CSE_DATA, "a frame of %zu bytes was announced; at most %d are accepted",
                        length, CSE_HOST_LINK_MAX_BYTES);
    *content_bytes = length;
    return CSE_OK;
}

cse_status cse_frame_open(cse_frame_cipher *cipher, unsigned char *frame, size_t content_bytes)
{
    parts p = parts_of(cipher, frame, content_bytes);
    int differs;
    if (cipher->algorithm == CSE_FRAME_AES256_GCM)
        differs = crypto_aead_aes256gcm_decrypt_detached_afternm(
            p.message, NULL, p.message, p.message_bytes, p.tag, frame, p.data_bytes, p.nonce,
            &cipher->aes);
    else
        differs = crypto_aead_chacha20poly1305_ietf_decrypt_detached(
            p.message, NULL, p.message, p.message_bytes, p.tag, frame, p.data_bytes, p.nonce,
            cipher->key);
    if (differs != 0)
        return cse_fail(CSE_DATA,
                        "a frame of %zu bytes is not authentic: it was changed on its "
                        "way, or is not the next one",
                        content_bytes);
    return CSE_OK;
}

/* Bytes of another host: of its handshake, of its connection, and what a frame is changed to on its
 * way. Nothing is let in, and no frame is taken that was not sealed with the key, in its order.
 *
 * The first byte says what follows: bytes for a side that accepts or calls, the text of an address,
 * bytes for a connection that is open, or a program of frames in records of three bytes. */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "engine/base/arena.h"
#include "engine/base/text.h"
#include "workers/links/host_address.h"
#include "workers/links/tcp_connection.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST_BYTES = 20000 };

static const cse_handshake_side side = { .host = 1, .host_count = 3, .session = 7, .key = { 1 } };

static void check(bool holds)
{
    if (!holds)
        abort();
}

/* Hellos that are right up to their fields come from the corpus; a proof cannot. */
static void shake_hands(const uint8_t *data, size_t size, int peer)
{
    cse_handshake handshake;
    cse_status status = CSE_OK;
    cse_handshake_begin(&handshake, &side, peer);
    while (status == CSE_OK && size >= handshake.expected) {
        check(handshake.expected > 0 && handshake.expected <= CSE_HANDSHAKE_MAX_BYTES);
        size_t taken = handshake.expected;
        status = cse_handshake_take(&handshake, data);
        check(handshake.out_bytes <= CSE_HANDSHAKE_MAX_BYTES);
        data += taken;
        size -= taken;
    }
    check(handshake.expected > 0);
    check(status == CSE_OK || *cse_error_message() != '\0');
    cse_handshake_end(&handshake);
}

static void parse_address(const uint8_t *data, size_t size)
{
    cse_host_address address, again;
    char text[CSE_HOST_LINK_ADDRESS_BYTES * 2] = { 0 }, printed[CSE_HOST_LINK_ADDRESS_BYTES];
    memcpy(text, data, size < sizeof text - 1 ? size : sizeof text - 1);
    if (cse_host_address_parse(text, &address) != CSE_OK) {
        check(*cse_error_message() != '\0');
        return;
    }
    if (strlen(address.name) > CSE_HOST_LINK_ADDRESS_BYTES - 12)
        return;
    cse_host_address_print(&address, atoi(address.port), printed);
    check(cse_host_address_parse(printed, &again) == CSE_OK);
    check(strcmp(address.name, again.name) == 0 && atoi(address.port) == atoi(again.port));
}

/* An open connection, the other end of whose socket is `other`, and the cipher of that end. */
static cse_tcp_connection *open_connection(int *other, cse_frame_cipher *cipher, bool aes,
                                           cse_host_link_counts *counts)
{
    static const unsigned char key[CSE_FRAME_KEY_BYTES] = { 3 };
    int ends[2];
    unsigned algorithms = aes ? cse_frame_algorithms() : CSE_FRAME_CHACHA20_POLY1305;
    check(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) == 0);
    cse_tcp_connection *c = cse_tcp_connection_new(ends[0], &side, -1);
    cse_frame_cipher_begin(&c->receives, cse_frame_algorithm_of(algorithms), false, key);
    cse_frame_cipher_begin(cipher, cse_frame_algorithm_of(algorithms), false, key);
    c->in = cse_malloc(1);
    c->in_capacity = 1;
    c->open = true;
    c->counts = counts;
    *other = ends[1];
    return c;
}

/* Feeds all bytes in one piece; returns how many frames came out of them. */
static int feed(cse_tcp_connection *c, int other, const uint8_t *bytes, size_t size)
{
    int frames = 0;
    cse_status status = CSE_OK;
    check(write(other, bytes, size) == (ssize_t)size);
    close(other);
    while (status == CSE_OK || status == CSE_TEMPORARY) {
        const unsigned char *frame;
        size_t frame_bytes;
        cse_tcp_connection_receive(c);
        status = cse_tcp_connection_frame(c, &frame, &frame_bytes);
        if (status == CSE_OK)
            for (size_t i = 0; i < frame_bytes; i++)
                check(frame[i] == (uint8_t)(frames + 1));
        frames += status == CSE_OK;
    }
    check(status == CSE_UNAVAILABLE || status == CSE_DATA);
    return frames;
}

/* Records: size of a frame, what is done with it, and where. Returns how many frames are left
 * before the first one that something was done with. */
static int write_frames(cse_frame_cipher *cipher, const uint8_t *data, size_t size, cse_text *wire)
{
    int untouched = -1, count = 0;
    unsigned char frame[255 * 8 + CSE_FRAME_OVERHEAD_BYTES];
    for (; size >= 3 && wire->size + sizeof frame * 2 < MOST_BYTES; data += 3, size -= 3) {
        const size_t content = (size_t)data[0] * 8, all = content + CSE_FRAME_OVERHEAD_BYTES;
        const int what = data[1] % 8;
        memset(frame, ++count, sizeof frame);
        cse_frame_seal(cipher, frame, content);
        if (what == 1)
            frame[data[2] % all] ^= (unsigned char)(1 << data[1] / 32);
        if (what == 2)
            /* What follows is not by chance what is missing. */
            cse_text_add_bytes(wire, (const char *)frame, data[2] % (all - 8));
        else if (what != 3)
            cse_text_add_bytes(wire, (const char *)frame, all);
        if (what == 4)
            cse_text_add_bytes(wire, (const char *)frame, all);
        if (what >= 1 && what <= 4 && untouched < 0)
            untouched = what == 4 ? count : count - 1;
    }
    return untouched < 0 ? count : untouched;
}

static void take_frames(const uint8_t *data, size_t size, bool program, bool aes)
{
    cse_frame_cipher *cipher = cse_aligned_calloc(sizeof *cipher);
    cse_host_link_counts counts = { 0 };
    int other;
    cse_tcp_connection *c = open_connection(&other, cipher, aes, &counts);
    if (program) {
        cse_text wire = { 0 };
        cse_text_reserve(&wire, 1);
        int expected = write_frames(cipher, data, size, &wire);
        check(feed(c, other, (const uint8_t *)wire.data, wire.size) == expected);
        cse_text_clear(&wire);
    } else {
        check(feed(c, other, data, size < MOST_BYTES ? size : MOST_BYTES) == 0);
    }
    cse_tcp_connection_destroy(&c);
    free(cipher);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (sodium_init() < 0)
        abort();
    if (size < 1)
        return 0;
    const uint8_t kind = *data++;
    size--;
    if (kind % 8 < 2)
        shake_hands(data, size, kind % 8 == 0 ? -1 : 0);
    else if (kind % 8 == 2)
        parse_address(data, size);
    else
        take_frames(data, size, kind % 8 > 4, kind & 8);
    return 0;
}

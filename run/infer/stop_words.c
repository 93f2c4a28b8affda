/* Of several stop words the one that is complete first counts; of two that are complete at the same
 * byte the longer one. */
#include "run/infer/stop_words.h"

#include <string.h>

void cse_stop_words_begin(cse_stop_words *stop, const char *const *words, int count)
{
    cse_text held = stop->held;
    held.size = 0;
    *stop = (cse_stop_words){ .words = words, .count = count, .held = held, .found = -1 };
}

void cse_stop_words_clear(cse_stop_words *stop)
{
    cse_text_clear(&stop->held);
}

/* Where the stop word begins that is complete first; -1: none is complete. */
static int64_t find(cse_stop_words *stop)
{
    size_t end = SIZE_MAX, begin = 0;
    for (int i = 0; i < stop->count; i++) {
        const size_t size = strlen(stop->words[i]);
        const char *at = memmem(stop->held.data, stop->held.size, stop->words[i], size);
        if (at == NULL)
            continue;
        const size_t first = (size_t)(at - stop->held.data);
        if (first + size < end || (first + size == end && first < begin)) {
            begin = first;
            end = first + size;
            stop->found = i;
        }
    }
    return stop->found < 0 ? -1 : (int64_t)begin;
}

/* How many bytes at the end may be the beginning of a stop word. */
static size_t begun(const cse_stop_words *stop)
{
    size_t most = 0;
    for (int i = 0; i < stop->count; i++) {
        const size_t size = strlen(stop->words[i]);
        for (size_t n = size - 1; n > most; n--)
            if (n <= stop->held.size &&
                memcmp(stop->held.data + stop->held.size - n, stop->words[i], n) == 0)
                most = n;
    }
    return most;
}

/* How many of the last bytes are the beginning of a character that is not complete. */
static size_t broken(const char *data, size_t size)
{
    for (size_t back = 1; back <= 4 && back <= size; back++) {
        const unsigned char byte = (unsigned char)data[size - back];
        if ((byte & 0xC0) == 0x80)
            continue;
        const size_t wanted = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC0 ? 2 : 1;
        return byte < 0xF8 && wanted > back ? back : 0;
    }
    return 0;
}

static void hand_on(cse_stop_words *stop, size_t size, cse_text *shown)
{
    if (size == 0)
        return;
    cse_text_add_bytes(shown, stop->held.data, size);
    memmove(stop->held.data, stop->held.data + size, stop->held.size - size);
    stop->held.size -= size;
}

bool cse_stop_words_add(cse_stop_words *stop, const char *bytes, size_t size, cse_text *shown)
{
    if (stop->found >= 0)
        return false;
    if (size == 0)
        return true;
    cse_text_add_bytes(&stop->held, bytes, size);
    const int64_t at = find(stop);
    if (at >= 0) {
        hand_on(stop, (size_t)at, shown);
        stop->held.size = 0;
        return false;
    }
    const size_t whole = stop->held.size - begun(stop);
    hand_on(stop, whole - broken(stop->held.data, whole), shown);
    return true;
}

void cse_stop_words_end(cse_stop_words *stop, cse_text *shown)
{
    if (stop->found < 0)
        hand_on(stop, stop->held.size, shown);
}

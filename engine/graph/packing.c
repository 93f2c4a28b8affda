/* Numbers of seven bits a byte, the lowest first; the highest bit says that more follow. */
#include "engine/graph/packing.h"

#include <string.h>

enum { MOST_NUMBER_BYTES = 10 };

void cse_pack_count(cse_text *out, uint64_t number)
{
    if (out->capacity - out->size <= MOST_NUMBER_BYTES) /* what is packed is numbers, mostly */
        cse_text_reserve(out, MOST_NUMBER_BYTES);
    unsigned char *at = (unsigned char *)out->data + out->size;
    size_t used = 0;
    for (; number >= 0x80; number >>= 7)
        at[used++] = (unsigned char)(number | 0x80);
    at[used++] = (unsigned char)number;
    out->size += used;
    out->data[out->size] = '\0';
}

/* The sign is the lowest bit, so that small numbers of either sign are short. */
void cse_pack_number(cse_text *out, int64_t number)
{
    uint64_t bits = (uint64_t)number << 1;
    cse_pack_count(out, number < 0 ? ~bits : bits);
}

void cse_pack_double(cse_text *out, double number)
{
    cse_text_add_bytes(out, (const char *)&number, sizeof number);
}

void cse_pack_text(cse_text *out, const char *text)
{
    size_t size = text != NULL ? strlen(text) : 0;
    cse_pack_count(out, size);
    if (size > 0)
        cse_text_add_bytes(out, text, size);
}

static uint64_t read_bits(cse_unpacker *from)
{
    uint64_t number = 0;
    for (unsigned shift = 0; shift < 64 && from->at < from->end; shift += 7) {
        unsigned char byte = *from->at++;
        number |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return number;
    }
    from->wrong = true;
    return 0;
}

uint64_t cse_unpack_count(cse_unpacker *from, uint64_t most)
{
    uint64_t number = read_bits(from);
    if (number < most)
        return number;
    from->wrong = true;
    return 0;
}

int64_t cse_unpack_number(cse_unpacker *from)
{
    uint64_t bits = read_bits(from);
    return (int64_t)(bits & 1 ? ~(bits >> 1) : bits >> 1);
}

double cse_unpack_double(cse_unpacker *from)
{
    double number = 0;
    if ((size_t)(from->end - from->at) < sizeof number) {
        from->wrong = true;
        return 0;
    }
    memcpy(&number, from->at, sizeof number);
    from->at += sizeof number;
    return number;
}

const char *cse_unpack_text(cse_unpacker *from, size_t *size)
{
    size_t left = (size_t)(from->end - from->at);
    *size = (size_t)cse_unpack_count(from, left + 1);
    if (*size > (size_t)(from->end - from->at)) {
        from->wrong = true;
        *size = 0;
    }
    const char *text = (const char *)from->at;
    from->at += *size;
    return text;
}

int cse_unpack_records(cse_unpacker *from)
{
    uint64_t left = (uint64_t)(from->end - from->at);
    uint64_t count = cse_unpack_count(from, left < INT32_MAX ? left + 1 : INT32_MAX);
    if (count <= (uint64_t)(from->end - from->at))
        return (int)count;
    from->wrong = true;
    return 0;
}

/* The link "self" of a /proc names who reads it by the numbers of that /proc. Its descriptor leads
 * nowhere else: it is a link, not a folder. */
#include "engine/base/process_number.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char variable[] = "CSENGINE_PROCESS_NUMBER=";
static int outside = -1;

/* 0: it cannot be told. */
static int64_t read_outside(void)
{
    char text[32];
    const ssize_t length = outside >= 0 ? readlinkat(outside, "", text, sizeof text - 1) : 0;
    int64_t number = 0;
    for (ssize_t i = 0; i < length && text[i] >= '0' && text[i] <= '9'; i++)
        number = 10 * number + (text[i] - '0');
    return number;
}

int64_t cse_process_number(void)
{
    char name[sizeof variable];
    const int64_t number = read_outside();
    if (number > 0)
        return number;
    memcpy(name, variable, sizeof variable);
    name[sizeof variable - 2] = '\0';
    const char *told = getenv(name);
    const int64_t value = told != NULL ? strtoll(told, NULL, 10) : 0;
    return value > 0 ? value : getpid();
}

void cse_process_number_keep(void)
{
    if (outside < 0)
        outside = open("/proc/self", O_PATH | O_NOFOLLOW | O_CLOEXEC);
}

void cse_process_number_word(char word[CSE_PROCESS_NUMBER_BYTES])
{
    int64_t number = read_outside();
    char digits[24];
    size_t count = 0, at = sizeof variable - 1;
    memcpy(word, variable, at);
    for (; number > 0 && count < sizeof digits; number /= 10)
        digits[count++] = (char)('0' + number % 10);
    while (count > 0)
        word[at++] = digits[--count];
    word[at] = '\0';
}

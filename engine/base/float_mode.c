/* The mode is a register of the processor; on other kinds of them it stays as it is. */
#include "engine/base/float_mode.h"

#if defined(__x86_64__)
#include <immintrin.h>

cse_float_mode cse_float_mode_of_thread(void)
{
    return _mm_getcsr();
}

void cse_float_mode_restore(cse_float_mode mode)
{
    _mm_setcsr((unsigned)mode);
}

void cse_set_float_mode(void)
{
    _mm_setcsr(0x1f80 | 0x8000 | 0x0040); /* exceptions masked, nearest even, FTZ, DAZ */
}

#elif defined(__aarch64__)

cse_float_mode cse_float_mode_of_thread(void)
{
    cse_float_mode mode;
    __asm__ volatile("mrs %0, fpcr" : "=r"(mode));
    return mode;
}

void cse_float_mode_restore(cse_float_mode mode)
{
    __asm__ volatile("msr fpcr, %0" : : "r"(mode));
}

void cse_set_float_mode(void)
{
    cse_float_mode_restore((cse_float_mode)1 << 24); /* nearest even, FZ */
}

#else

cse_float_mode cse_float_mode_of_thread(void)
{
    return 0;
}

void cse_float_mode_restore(cse_float_mode mode)
{
    (void)mode;
}

void cse_set_float_mode(void)
{
}

#endif

/* ucontext, with stacks that are used again. */
#include "tests/support/simulation/fiber.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "engine/base/arena.h"

enum { STACK_BYTES = 256 * 1024, MOST_SPARE = 64 };

struct fiber {
    ucontext_t own, caller;
    void (*body)(void *self);
    void *self;
    void *stack;
    bool ended;
};

static fiber *running;
static void *spare[MOST_SPARE];
static int spare_count;

static void *take_stack(void)
{
    if (spare_count > 0)
        return spare[--spare_count];
    void *stack =
        mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (stack == MAP_FAILED)
        abort();
    return stack;
}

static void begin(void)
{
    fiber *self = running;
    self->body(self->self);
    self->ended = true;
    swapcontext(&self->own, &self->caller);
    abort(); /* an ended fiber is not resumed */
}

fiber *fiber_new(void (*body)(void *self), void *self)
{
    fiber *f = cse_calloc(1, sizeof *f);
    *f = (fiber){ .body = body, .self = self, .stack = take_stack() };
    getcontext(&f->own);
    f->own.uc_stack = (stack_t){ .ss_sp = f->stack, .ss_size = STACK_BYTES };
    makecontext(&f->own, begin, 0);
    return f;
}

void fiber_destroy(fiber **f)
{
    if (*f == NULL)
        return;
    if (spare_count < MOST_SPARE)
        spare[spare_count++] = (*f)->stack;
    else
        munmap((*f)->stack, STACK_BYTES);
    free(*f);
    *f = NULL;
}

bool fiber_resume(fiber *f)
{
    running = f;
    swapcontext(&f->caller, &f->own);
    running = NULL;
    return !f->ended;
}

void fiber_stop(void)
{
    fiber *self = running;
    if (self == NULL)
        return;
    swapcontext(&self->own, &self->caller);
    running = self;
}

bool fiber_is_running(void)
{
    return running != NULL;
}

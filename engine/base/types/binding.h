/* Whether the processes that compute are bound to processors. */
#ifndef CSE_TYPES_BINDING_H
#define CSE_TYPES_BINDING_H

#include "csengine/status.h"
#include "engine/base/choices.h"

/* LIST(FIRST, NEXT) of (name, enumerator):
 *   auto    bound where they take at least half of the processors, and each can have one: else
 *           another job could choose the same ones, and the scheduler keeps them apart
 *   cores   always bound
 *   none    never */
#define CSE_BINDINGS(FIRST, NEXT)  \
    FIRST(auto, CSE_BINDING_AUTO)  \
    NEXT(cores, CSE_BINDING_CORES) \
    NEXT(none, CSE_BINDING_NONE)

#define CSE_BINDING_ENUMERATOR(name, enumerator) enumerator,
typedef enum cse_binding {
    CSE_BINDINGS(CSE_BINDING_ENUMERATOR, CSE_BINDING_ENUMERATOR)
} cse_binding;
#undef CSE_BINDING_ENUMERATOR

/* NULL: auto. CSE_CONFIG names what is accepted. */
cse_status cse_binding_read(const char *name, cse_binding *binding);

#endif

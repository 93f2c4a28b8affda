/* What a process of a job does, by which its limits are chosen. */
#ifndef CSE_BASE_SANDBOX_PROFILE_H
#define CSE_BASE_SANDBOX_PROFILE_H

typedef enum cse_sandbox_profile {
    CSE_SANDBOX_COORDINATOR, /* compiles, and starts workers */
    CSE_SANDBOX_INPUT,       /* reads data, writes nothing, starts nothing */
    CSE_SANDBOX_COMPUTE,     /* loads the compiled step, reads no data */
    CSE_SANDBOX_MOVER,       /* speaks with other hosts, reads no data, starts nothing */
    CSE_SANDBOX_PARSER       /* reads what is open already; opens and starts nothing */
} cse_sandbox_profile;

#endif

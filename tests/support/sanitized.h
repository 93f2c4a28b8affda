/* Whether this is a build with sanitizers: what runs 20 to 100 times as long there (the kernels in
 * plain C) is repeated less often, and what sanitizers do themselves is not expected of others. */
#ifndef CSE_TESTS_SUPPORT_SANITIZED_H
#define CSE_TESTS_SUPPORT_SANITIZED_H

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif

#endif

/* The kinds of problem (RFC 9457): one table for the answers and for the API's description. */
#ifndef CSE_DASHBOARD_API_PROBLEM_H
#define CSE_DASHBOARD_API_PROBLEM_H

/* X(name, HTTP status, last word of the type's URN, title, description) */
#define CSE_PROBLEM_TABLE(X)                                                                     \
    X(BAD_REQUEST, 400, "bad-request", "The request is malformed",                               \
      "The request is malformed or a parameter is out of range")                                 \
    X(UNAUTHORIZED, 401, "unauthorized", "A token is wanted", "A token is wanted")               \
    X(FORBIDDEN, 403, "forbidden", "Not allowed",                                                \
      "Host or Origin is not this server's, or the path leaves the run's directory")             \
    X(NOT_FOUND, 404, "not-found", "Not found", "There is no such thing")                        \
    X(METHOD_NOT_ALLOWED, 405, "method-not-allowed", "The path has no such method",              \
      "Allow lists the methods")                                                                 \
    X(NOT_ACCEPTABLE, 406, "not-acceptable", "No such representation",                           \
      "No representation that Accept allows")                                                    \
    X(CONFLICT, 409, "conflict", "Not possible in the present state",                            \
      "Not possible in the present state")                                                       \
    X(GONE, 410, "gone", "No longer there", "It was there; its file was removed")                \
    X(PRECONDITION_FAILED, 412, "precondition-failed", "It has changed meanwhile",               \
      "If-Match is stale: read again")                                                           \
    X(TOO_LARGE, 413, "too-large", "The body is too large", "The body is larger than the limit") \
    X(UNSUPPORTED_MEDIA_TYPE, 415, "unsupported-media-type", "Content-Type not accepted",        \
      "The body's Content-Type is not accepted")                                                 \
    X(RANGE, 416, "range-not-satisfiable", "The range lies outside",                             \
      "The range lies outside of the file")                                                      \
    X(UNPROCESSABLE, 422, "unprocessable", "The content is wrong",                               \
      "The configuration or the body is wrong: errors[] holds line and column")                  \
    X(PRECONDITION_REQUIRED, 428, "precondition-required", "If-Match is missing",                \
      "If-Match is missing")                                                                     \
    X(TOO_MANY_REQUESTS, 429, "too-many-requests", "Too many requests",                          \
      "Slow down: Retry-After says for how long")                                                \
    X(INTERNAL, 500, "internal", "Internal error", "An error of the server: see its log")        \
    X(NOT_IMPLEMENTED, 501, "not-implemented", "This server cannot do that",                     \
      "This server cannot do that")                                                              \
    X(UNAVAILABLE, 503, "unavailable", "Not possible at the moment",                             \
      "Not possible at the moment: the run's process or the store does not answer, or there is " \
      "no room on the disk for what is asked; with Retry-After, ask again after as many seconds")

typedef enum cse_problem {
#define CSE_PROBLEM_ENUM(name, status, word, title, doc) CSE_PROBLEM_##name,
    CSE_PROBLEM_TABLE(CSE_PROBLEM_ENUM)
#undef CSE_PROBLEM_ENUM
} cse_problem;

#endif

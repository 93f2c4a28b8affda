/* A form of the samples of loggers that write JSON. */
#ifndef CSE_TESTS_SAMPLES_LOGGERS_JSON_LINE_H
#define CSE_TESTS_SAMPLES_LOGGERS_JSON_LINE_H

/* The lines of the samples of logger.h; printed by tests/reference/loggers.py. */
#define CSE_JSON_SAMPLE                                                           \
    "{\"step\":1,\"time_s\":1700000000.250000,\"name\":\"loss\",\"value\":0.5}\n" \
    "{\"step\":300,\"time_s\":1700000001.500000,"                                 \
    "\"name\":\"val \\\"accuracy\\\", %\",\"value\":0.10000000000000001}\n"       \
    "{\"step\":70000,\"time_s\":1700000002.750000,\"name\":\"lr/0\",\"value\":null}\n"

#endif

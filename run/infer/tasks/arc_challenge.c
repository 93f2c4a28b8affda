/* ARC, the challenge set: questions of science at school. */
#include "run/infer/tasks/arc.h"

const cse_language_task cse_task_arc_challenge = {
    .name = "arc_challenge",
    .summary = "questions of science at school, the challenge set",
    .members = "question, choices {text, label}, answerKey",
    .read = cse_arc_read,
    .by_bytes = true,
};

/* ARC, the easy set: questions of science at school. */
#include "run/infer/tasks/arc.h"

const cse_language_task cse_task_arc_easy = {
    .name = "arc_easy",
    .summary = "questions of science at school, the easy set",
    .members = "question, choices {text, label}, answerKey",
    .read = cse_arc_read,
    .by_bytes = true,
};

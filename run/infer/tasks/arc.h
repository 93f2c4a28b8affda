/* Rows of ARC (Clark et al. 2018), of which there is an easy and a challenging set. */
#ifndef CSE_INFER_TASKS_ARC_H
#define CSE_INFER_TASKS_ARC_H

#include "run/infer/tasks/language_task.h"

cse_status cse_arc_read(const json_t *row, cse_task_item *item);

#endif

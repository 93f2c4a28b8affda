/* The life of a job, played without a job: every state with every event, what is refused, and the
 * ways of jobs from their beginning to their end. */
#include <check.h>
#include <stdlib.h>

#include "run/job/job_life.h"

/* ---- every state and every event ---- */

typedef struct row {
    cse_job_stage stage;
    cse_job_life_event event;
    cse_job_stage next;
    unsigned actions;
} row;

#define ENDS(stage)                                                       \
    { stage, CSE_ON_FINISHED, CSE_LIFE_FINISHED, 0 },                     \
        { stage, CSE_ON_STOPPED, CSE_LIFE_STOPPED, 0 },                   \
        { stage, CSE_ON_HANDED_ON, CSE_LIFE_HANDED_ON, 0 },               \
        { stage, CSE_ON_FAILED, CSE_LIFE_FAILED, 0 },                     \
    {                                                                     \
        stage, CSE_ON_UNSAVED_FAILURE, CSE_LIFE_FAILING, CSE_DO_SAVE_LAST \
    }

/* All that may happen, with an end of the run that adds no actions. */
static const row rows[] = {
    { CSE_LIFE_PREPARING, CSE_ON_VALIDATION_PLANNED, CSE_LIFE_OWED, CSE_DO_TELL_FORMAT },
    { CSE_LIFE_PREPARING, CSE_ON_STEPS_PLANNED, CSE_LIFE_TRAINING,
      CSE_DO_TELL_FORMAT | CSE_DO_ACCEPT },
    { CSE_LIFE_PREPARING, CSE_ON_NOTHING_PLANNED, CSE_LIFE_COMPLETE,
      CSE_DO_TELL_FORMAT | CSE_DO_TELL_COMPLETE },
    ENDS(CSE_LIFE_PREPARING),
    { CSE_LIFE_OWED, CSE_ON_VALIDATION_PLANNED, CSE_LIFE_OWED, 0 },
    { CSE_LIFE_OWED, CSE_ON_STEPS_PLANNED, CSE_LIFE_TRAINING, CSE_DO_ACCEPT },
    { CSE_LIFE_OWED, CSE_ON_NOTHING_PLANNED, CSE_LIFE_COMPLETE, CSE_DO_TELL_COMPLETE },
    ENDS(CSE_LIFE_OWED),
    { CSE_LIFE_TRAINING, CSE_ON_VALIDATION_PLANNED, CSE_LIFE_VALIDATING, 0 },
    { CSE_LIFE_TRAINING, CSE_ON_STEPS_PLANNED, CSE_LIFE_TRAINING, 0 },
    { CSE_LIFE_TRAINING, CSE_ON_SAVED, CSE_LIFE_TRAINING, 0 },
    { CSE_LIFE_TRAINING, CSE_ON_NOT_SAVED, CSE_LIFE_UNSAVED, 0 },
    { CSE_LIFE_TRAINING, CSE_ON_NO_ROOM, CSE_LIFE_WAITING, 0 },
    ENDS(CSE_LIFE_TRAINING),
    { CSE_LIFE_VALIDATING, CSE_ON_VALIDATION_PLANNED, CSE_LIFE_VALIDATING, 0 },
    { CSE_LIFE_VALIDATING, CSE_ON_STEPS_PLANNED, CSE_LIFE_TRAINING, 0 },
    ENDS(CSE_LIFE_VALIDATING),
    { CSE_LIFE_COMPLETE, CSE_ON_VALIDATION_PLANNED, CSE_LIFE_COMPLETE, 0 },
    ENDS(CSE_LIFE_COMPLETE),
    { CSE_LIFE_WAITING, CSE_ON_SAVED, CSE_LIFE_WAITING, 0 },
    { CSE_LIFE_WAITING, CSE_ON_NOT_SAVED, CSE_LIFE_UNSAVED, 0 },
    { CSE_LIFE_WAITING, CSE_ON_NO_ROOM, CSE_LIFE_WAITING, 0 },
    { CSE_LIFE_WAITING, CSE_ON_WAIT_OVER, CSE_LIFE_TRAINING, 0 },
    { CSE_LIFE_WAITING, CSE_ON_WAIT_GIVEN_UP, CSE_LIFE_UNSAVED, 0 },
    { CSE_LIFE_WAITING, CSE_ON_UNSAVED_FAILURE, CSE_LIFE_FAILING_WAITING, CSE_DO_SAVE_LAST },
    { CSE_LIFE_WAITING, CSE_ON_FAILED, CSE_LIFE_FAILED, 0 },
    { CSE_LIFE_FAILING, CSE_ON_NO_ROOM, CSE_LIFE_FAILING_WAITING, 0 },
    { CSE_LIFE_FAILING, CSE_ON_FAILED, CSE_LIFE_FAILED, 0 },
    { CSE_LIFE_FAILING_WAITING, CSE_ON_NO_ROOM, CSE_LIFE_FAILING_WAITING, 0 },
    { CSE_LIFE_FAILING_WAITING, CSE_ON_WAIT_OVER, CSE_LIFE_FAILING, 0 },
    { CSE_LIFE_FAILING_WAITING, CSE_ON_WAIT_GIVEN_UP, CSE_LIFE_UNSAVED, 0 },
    { CSE_LIFE_FAILING_WAITING, CSE_ON_FAILED, CSE_LIFE_FAILED, 0 },
    { CSE_LIFE_UNSAVED, CSE_ON_SAVED, CSE_LIFE_TRAINING, 0 },
    { CSE_LIFE_UNSAVED, CSE_ON_NOT_SAVED, CSE_LIFE_UNSAVED, 0 },
    { CSE_LIFE_UNSAVED, CSE_ON_UNSAVED_FAILURE, CSE_LIFE_UNSAVED, 0 },
    { CSE_LIFE_UNSAVED, CSE_ON_FAILED, CSE_LIFE_FAILED, 0 },
};

static const row *row_of(cse_job_stage stage, cse_job_life_event event)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].stage == stage && rows[i].event == event)
            return &rows[i];
    return NULL;
}

START_TEST(every_stage_meets_every_event)
{
    for (int stage = CSE_LIFE_PREPARING; stage < CSE_LIFE_COUNT; stage++)
        for (int event = CSE_ON_COUNTED_TAKEN + 1; event < CSE_ON_COUNT; event++) {
            cse_job_life life = { (cse_job_stage)stage, CSE_END_OPEN };
            const row *expected = row_of(life.stage, (cse_job_life_event)event);
            const unsigned actions = cse_job_life_next(&life, (cse_job_life_event)event);
            ck_assert_msg(actions == (expected != NULL ? expected->actions : CSE_DO_REFUSE) &&
                              (int)life.stage == (expected != NULL ? (int)expected->next : stage),
                          "stage %d, event %d: stage %d, actions %x", stage, event, (int)life.stage,
                          actions);
            ck_assert_int_eq(life.end, CSE_END_OPEN);
        }
}
END_TEST

/* Where the run ends, for each state of that and each event, in a stage that accepts the event. */
START_TEST(every_end_meets_every_event)
{
    static const struct {
        cse_job_end end;
        cse_job_life_event event;
        cse_job_end next;
        unsigned actions;
    } changes[] = {
        { CSE_END_OPEN, CSE_ON_COUNTED_ANEW, CSE_END_ANEW, 0 },
        { CSE_END_OPEN, CSE_ON_COUNTED_UNFINISHED, CSE_END_UNFINISHED, 0 },
        { CSE_END_OPEN, CSE_ON_COUNTED_TAKEN, CSE_END_TAKEN, 0 },
        { CSE_END_ANEW, CSE_ON_STEPS_PLANNED, CSE_END_KEPT,
          CSE_DO_TELL_END | CSE_DO_TELL_CHANGES | CSE_DO_KEEP_END },
        { CSE_END_ANEW, CSE_ON_NOTHING_PLANNED, CSE_END_ANEW,
          CSE_DO_TELL_END | CSE_DO_TELL_CHANGES },
        { CSE_END_UNFINISHED, CSE_ON_STEPS_PLANNED, CSE_END_KEPT,
          CSE_DO_TELL_CHANGES | CSE_DO_KEEP_END },
        { CSE_END_UNFINISHED, CSE_ON_NOTHING_PLANNED, CSE_END_KEPT,
          CSE_DO_TELL_CHANGES | CSE_DO_KEEP_END },
        { CSE_END_TAKEN, CSE_ON_FINISHED, CSE_END_FORGOTTEN, CSE_DO_FORGET_END },
        { CSE_END_KEPT, CSE_ON_FINISHED, CSE_END_FORGOTTEN, CSE_DO_FORGET_END },
    };
    const size_t count = sizeof changes / sizeof changes[0];
    for (int end = CSE_END_OPEN; end < CSE_END_COUNT; end++)
        for (int event = 0; event < CSE_ON_COUNT; event++) {
            cse_job_life life = { CSE_LIFE_PREPARING, (cse_job_end)end };
            const row *stage = row_of(CSE_LIFE_PREPARING, (cse_job_life_event)event);
            size_t i = 0;
            while (i < count && ((int)changes[i].end != end || (int)changes[i].event != event))
                i++;
            const bool refused = i == count && stage == NULL;
            const unsigned expected = refused ? CSE_DO_REFUSE
                                              : (i < count ? changes[i].actions : 0) |
                                                    (stage != NULL ? stage->actions : 0);
            ck_assert_uint_eq(cse_job_life_next(&life, (cse_job_life_event)event), expected);
            ck_assert_int_eq(life.end, i < count ? (int)changes[i].next : end);
        }
}
END_TEST

/* From the beginning: all states that there are, and an end of the job from each. */
static bool reached[CSE_LIFE_COUNT][CSE_END_COUNT];

static void reach(cse_job_life life)
{
    if (reached[life.stage][life.end])
        return;
    reached[life.stage][life.end] = true;
    for (int event = 0; event < CSE_ON_COUNT; event++) {
        cse_job_life next = life;
        if (cse_job_life_next(&next, (cse_job_life_event)event) & CSE_DO_REFUSE)
            ck_assert(next.stage == life.stage && next.end == life.end);
        else
            reach(next);
    }
}

START_TEST(every_state_is_reached_and_comes_to_an_end)
{
    reach(CSE_JOB_LIFE_BEGIN);
    for (int stage = CSE_LIFE_PREPARING; stage < CSE_LIFE_COUNT; stage++) {
        bool once = false;
        for (int end = CSE_END_OPEN; end < CSE_END_COUNT; end++) {
            cse_job_life life = { (cse_job_stage)stage, (cse_job_end)end };
            const bool over = stage >= CSE_LIFE_FINISHED;
            once = once || reached[stage][end];
            /* The end of the run is forgotten with the end of the job alone. */
            ck_assert(!reached[stage][end] || end != CSE_END_FORGOTTEN ||
                      stage == CSE_LIFE_FINISHED);
            ck_assert(((cse_job_life_next(&life, CSE_ON_FAILED) & CSE_DO_REFUSE) != 0) == over);
        }
        ck_assert_msg(once, "stage %d is never reached", stage);
    }
    ck_assert(!reached[CSE_LIFE_FINISHED][CSE_END_KEPT]);
    ck_assert(reached[CSE_LIFE_STOPPED][CSE_END_KEPT]);
    ck_assert(reached[CSE_LIFE_FAILED][CSE_END_KEPT]);
}
END_TEST

/* ---- stories ---- */

static cse_job_life life;

static void begin(void)
{
    life = CSE_JOB_LIFE_BEGIN;
}

/* It happens, and is answered by these actions. */
static void happens(cse_job_life_event event, unsigned actions)
{
    ck_assert_uint_eq(cse_job_life_next(&life, event), actions);
}

static void train_anew(void)
{
    happens(CSE_ON_COUNTED_ANEW, 0);
    happens(CSE_ON_STEPS_PLANNED, CSE_DO_TELL_FORMAT | CSE_DO_ACCEPT | CSE_DO_TELL_END |
                                      CSE_DO_TELL_CHANGES | CSE_DO_KEEP_END);
    ck_assert(cse_job_life_keeps_end(life));
}

START_TEST(a_plain_run_forgets_its_end)
{
    train_anew();
    for (int segment = 0; segment < 3; segment++) {
        happens(CSE_ON_SAVED, 0);
        happens(CSE_ON_VALIDATION_PLANNED, 0);
        if (segment < 2)
            happens(CSE_ON_STEPS_PLANNED, 0); /* it is accepted once */
    }
    happens(CSE_ON_FINISHED, CSE_DO_FORGET_END);
    ck_assert_int_eq(life.stage, CSE_LIFE_FINISHED);
}
END_TEST

/* A stop, a place that a scheduler takes back, and other hosts: the run is unfinished. */
START_TEST(one_that_was_stopped_keeps_its_end)
{
    static const cse_job_life_event over[] = { CSE_ON_STOPPED, CSE_ON_HANDED_ON };
    for (size_t i = 0; i < sizeof over / sizeof over[0]; i++) {
        begin();
        train_anew();
        happens(CSE_ON_SAVED, 0);
        happens(over[i], 0);
        ck_assert_int_eq(life.end, CSE_END_KEPT);
        happens(CSE_ON_FINISHED, CSE_DO_REFUSE);
    }
}
END_TEST

/* A pause is the execution's: the job is where it was before and after it. */
START_TEST(a_pause_at_the_end_of_a_segment_changes_nothing)
{
    train_anew();
    const cse_job_life before = life;
    happens(CSE_ON_SAVED, 0);
    ck_assert(life.stage == before.stage && life.end == before.end);
    happens(CSE_ON_STEPS_PLANNED, 0);
    ck_assert(life.stage == before.stage && life.end == before.end);
}
END_TEST

START_TEST(a_failure_before_the_first_step_saves_nothing)
{
    happens(CSE_ON_COUNTED_ANEW, 0);
    happens(CSE_ON_FAILED, 0);
    ck_assert_int_eq(life.end, CSE_END_ANEW);
    ck_assert(!cse_job_life_keeps_end(life));
}
END_TEST

START_TEST(a_failure_after_steps_saves_the_last)
{
    train_anew();
    happens(CSE_ON_UNSAVED_FAILURE, CSE_DO_SAVE_LAST);
    ck_assert(cse_job_life_fails(life));
    ck_assert(!cse_job_life_waits(life));
    happens(CSE_ON_FAILED, 0);
    ck_assert(cse_job_life_keeps_end(life));
}
END_TEST

START_TEST(a_failure_waits_for_room_too)
{
    train_anew();
    happens(CSE_ON_UNSAVED_FAILURE, CSE_DO_SAVE_LAST);
    happens(CSE_ON_NO_ROOM, 0);
    ck_assert(cse_job_life_fails(life));
    ck_assert(cse_job_life_waits(life));
    happens(CSE_ON_WAIT_OVER, 0);
    ck_assert(cse_job_life_fails(life));
    ck_assert(!cse_job_life_waits(life));
    happens(CSE_ON_FAILED, 0);
}
END_TEST

START_TEST(no_room_and_then_room)
{
    train_anew();
    happens(CSE_ON_NO_ROOM, 0); /* at the step */
    ck_assert(cse_job_life_waits(life));
    happens(CSE_ON_NO_ROOM, 0); /* when the execution has ended */
    happens(CSE_ON_WAIT_OVER, 0);
    ck_assert(!cse_job_life_waits(life));
    happens(CSE_ON_VALIDATION_PLANNED, 0);
    happens(CSE_ON_FINISHED, CSE_DO_FORGET_END);
}
END_TEST

START_TEST(one_that_gives_up_its_last_step_saves_nothing_more)
{
    train_anew();
    happens(CSE_ON_NO_ROOM, 0);
    happens(CSE_ON_NO_ROOM, 0);
    happens(CSE_ON_WAIT_GIVEN_UP, 0);
    happens(CSE_ON_UNSAVED_FAILURE, 0);
    happens(CSE_ON_FINISHED, CSE_DO_REFUSE);
    happens(CSE_ON_FAILED, 0);
}
END_TEST

START_TEST(a_checkpoint_that_fails_is_not_written_again)
{
    train_anew();
    happens(CSE_ON_NOT_SAVED, 0);
    happens(CSE_ON_UNSAVED_FAILURE, 0);
    happens(CSE_ON_FAILED, 0);
    ck_assert_int_eq(life.end, CSE_END_KEPT);
}
END_TEST

START_TEST(one_that_goes_on_has_the_end_of_the_unfinished_run)
{
    happens(CSE_ON_COUNTED_UNFINISHED, 0);
    ck_assert(cse_job_life_goes_on(life));
    ck_assert(!cse_job_life_keeps_end(life));
    happens(CSE_ON_STEPS_PLANNED,
            CSE_DO_TELL_FORMAT | CSE_DO_ACCEPT | CSE_DO_TELL_CHANGES | CSE_DO_KEEP_END);
    happens(CSE_ON_FINISHED, CSE_DO_FORGET_END);
}
END_TEST

START_TEST(a_validation_that_is_owed_comes_before_the_steps)
{
    happens(CSE_ON_COUNTED_UNFINISHED, 0);
    happens(CSE_ON_VALIDATION_PLANNED, CSE_DO_TELL_FORMAT);
    ck_assert(cse_job_life_goes_on(life)); /* nothing is written down before the training */
    ck_assert(!cse_job_life_keeps_end(life));
    happens(CSE_ON_VALIDATION_PLANNED, 0); /* a second data loader */
    happens(CSE_ON_STEPS_PLANNED, CSE_DO_ACCEPT | CSE_DO_TELL_CHANGES | CSE_DO_KEEP_END);
    happens(CSE_ON_FINISHED, CSE_DO_FORGET_END);
}
END_TEST

START_TEST(a_complete_run_is_told_and_validated)
{
    happens(CSE_ON_COUNTED_ANEW, 0);
    happens(CSE_ON_NOTHING_PLANNED,
            CSE_DO_TELL_FORMAT | CSE_DO_TELL_COMPLETE | CSE_DO_TELL_END | CSE_DO_TELL_CHANGES);
    happens(CSE_ON_VALIDATION_PLANNED, 0);
    happens(CSE_ON_FINISHED, 0); /* what was to be done stays so */
    ck_assert_int_eq(life.end, CSE_END_ANEW);
}
END_TEST

/* Of weights alone: of one checkpoint, or of several. */
START_TEST(an_evaluation_ends_no_run)
{
    happens(CSE_ON_VALIDATION_PLANNED, CSE_DO_TELL_FORMAT);
    happens(CSE_ON_VALIDATION_PLANNED, 0);
    happens(CSE_ON_FINISHED, 0);
    ck_assert_int_eq(life.end, CSE_END_OPEN);
}
END_TEST

START_TEST(a_coordinator_that_takes_over_finds_the_end_kept)
{
    happens(CSE_ON_COUNTED_TAKEN, 0);
    ck_assert(cse_job_life_goes_on(life));
    ck_assert(cse_job_life_keeps_end(life));
    happens(CSE_ON_STEPS_PLANNED, CSE_DO_TELL_FORMAT | CSE_DO_ACCEPT);
    ck_assert(cse_job_life_keeps_end(life));
    happens(CSE_ON_FINISHED, CSE_DO_FORGET_END);
}
END_TEST

/* A host that follows, or a job without a run store. */
START_TEST(one_that_keeps_no_end_writes_none_down)
{
    happens(CSE_ON_STEPS_PLANNED, CSE_DO_TELL_FORMAT | CSE_DO_ACCEPT);
    ck_assert(!cse_job_life_keeps_end(life));
    happens(CSE_ON_FINISHED, 0);
}
END_TEST

START_TEST(what_cannot_be_is_refused)
{
    happens(CSE_ON_SAVED, CSE_DO_REFUSE);     /* no step was done */
    happens(CSE_ON_WAIT_OVER, CSE_DO_REFUSE); /* nothing waited */
    train_anew();
    happens(CSE_ON_COUNTED_ANEW, CSE_DO_REFUSE); /* that is decided */
    happens(CSE_ON_NOTHING_PLANNED, CSE_DO_REFUSE);
    happens(CSE_ON_WAIT_GIVEN_UP, CSE_DO_REFUSE);
    happens(CSE_ON_UNSAVED_FAILURE, CSE_DO_SAVE_LAST);
    happens(CSE_ON_STEPS_PLANNED, CSE_DO_REFUSE);
    happens(CSE_ON_STOPPED, CSE_DO_REFUSE);
}
END_TEST

int main(void)
{
    TCase *tables = tcase_create("tables");
    tcase_add_test(tables, every_stage_meets_every_event);
    tcase_add_test(tables, every_end_meets_every_event);
    tcase_add_test(tables, every_state_is_reached_and_comes_to_an_end);
    TCase *stories = tcase_create("stories");
    tcase_add_checked_fixture(stories, begin, NULL);
    tcase_add_test(stories, a_plain_run_forgets_its_end);
    tcase_add_test(stories, one_that_was_stopped_keeps_its_end);
    tcase_add_test(stories, a_pause_at_the_end_of_a_segment_changes_nothing);
    tcase_add_test(stories, a_failure_before_the_first_step_saves_nothing);
    tcase_add_test(stories, a_failure_after_steps_saves_the_last);
    tcase_add_test(stories, a_failure_waits_for_room_too);
    tcase_add_test(stories, no_room_and_then_room);
    tcase_add_test(stories, one_that_gives_up_its_last_step_saves_nothing_more);
    tcase_add_test(stories, a_checkpoint_that_fails_is_not_written_again);
    tcase_add_test(stories, one_that_goes_on_has_the_end_of_the_unfinished_run);
    tcase_add_test(stories, a_validation_that_is_owed_comes_before_the_steps);
    tcase_add_test(stories, a_complete_run_is_told_and_validated);
    tcase_add_test(stories, an_evaluation_ends_no_run);
    tcase_add_test(stories, a_coordinator_that_takes_over_finds_the_end_kept);
    tcase_add_test(stories, one_that_keeps_no_end_writes_none_down);
    tcase_add_test(stories, what_cannot_be_is_refused);
    Suite *suite = suite_create("job_life");
    suite_add_tcase(suite, tables);
    suite_add_tcase(suite, stories);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* records: JSON text, the event log, the run's lock and the wish to stop. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "src/events.h"
#include "src/json.h"
#include "src/lock.h"
#include "src/rng.h"
#include "src/stop.h"

#define NOT_A_NUMBER ((double)NAN)

/* ---- JSON ----------------------------------------------------------------------------- */

/* The layouts are those of RFC 8785, appendix B, and of ECMAScript's Number::toString. */
static const struct {
    double value;
    const char *text;
} numbers[] = {
    {0, "0"},
    {-0.0, "0"},
    {1, "1"},
    {-1.5, "-1.5"},
    {10000, "10000"},
    {0.1, "0.1"},
    {1e-3, "0.001"},
    {0.1 + 0.2, "0.30000000000000004"},
    {1.0 / 3, "0.3333333333333333"},
    {9007199254740992, "9007199254740992"},
    {295147905179352830000.0, "295147905179352830000"},
    {999999999999999900000.0, "999999999999999900000"},
    {1e21, "1e+21"},
    {1.7976931348623157e308, "1.7976931348623157e+308"},
    {5e-324, "5e-324"},
    {-5e-324, "-5e-324"},
    {0.000001, "0.000001"},
    {1e-7, "1e-7"},
    {-1.25e-7, "-1.25e-7"},
    {9.999999999999997e22, "9.999999999999997e+22"},
    {333333333.33333325, "333333333.33333325"},
    {-0.0000033333333333333333, "-0.0000033333333333333333"},
    {(double)INFINITY, "inf"},
    {-(double)INFINITY, "-inf"},
    {(double)NAN, "nan"},
};

START_TEST(json_numbers) {
    char text[32];
    ck_assert_str_eq(json_number_text(numbers[_i].value, text), numbers[_i].text);
}
END_TEST

START_TEST(json_numbers_read_back) {
    Rng rng = rng_stream(3, RNG_TEST, 0, 0);
    for (int i = 0; i < 20000; i++) {
        uint64_t bits = (uint64_t)rng_bits(&rng) << 32 | rng_bits(&rng);
        double value;
        memcpy(&value, &bits, sizeof value);
        if (!isfinite(value)) continue;
        char text[32];
        json_number_text(value, text);
        ck_assert_uint_lt(strlen(text), sizeof text);
        double back = strtod(text, NULL);
        ck_assert_msg(back == value, "%a as %s", value, text);
    }
}
END_TEST

START_TEST(json_values) {
    Json json = {0};
    json_open(&json, '{');
    json_key(&json, "a\"b\\c");
    json_open(&json, '[');
    json_integer(&json, INT64_MIN);
    json_number(&json, 0.5);
    json_number(&json, NOT_A_NUMBER);
    json_number(&json, -HUGE_VAL);
    json_boolean(&json, true);
    json_boolean(&json, false);
    json_text(&json, NULL);
    json_text(&json, "");
    json_text(&json, "[");
    json_text(&json, "x");
    json_close(&json, ']');
    json_key(&json, "empty");
    json_open(&json, '{');
    json_close(&json, '}');
    json_key(&json, "text");
    json_text(&json, "tab\t newline\n größe \x01 bad \xFF\xC3(");
    json_close(&json, '}');
    ck_assert_str_eq(
        json.text,
        "{\"a\\\"b\\\\c\":[-9223372036854775808,0.5,null,null,true,false,null,\"\",\"[\","
        "\"x\"],\"empty\":{},\"text\":\"tab\\u0009 newline\\u000a größe \\u0001 bad "
        "\uFFFD\uFFFD(\"}");
    ck_assert_uint_eq(json.length, strlen(json.text));
    json_clear(&json);
    json_integer(&json, 7);
    ck_assert_str_eq(json.text, "7");
    json_free(&json);
}
END_TEST

START_TEST(json_grows) {
    Json json = {0};
    json_open(&json, '[');
    for (int i = 0; i < 5000; i++) json_integer(&json, 7);
    json_close(&json, ']');
    ck_assert_uint_eq(json.length, 2 * 5000 + 1);
    ck_assert_str_eq(json.text + json.length - 4, "7,7]");
    json_free(&json);
}
END_TEST

/* ---- files for the tests below ---------------------------------------------------------- */

static char folder[32], path[64];

static void make_folder(void) {
    strcpy(folder, "/tmp/test_records_XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/file", folder);
}

static void remove_folder(void) {
    unlink(path);
    rmdir(folder);
}

static void assert_file(const char *expected) {
    char text[4096];
    FILE *file = fopen(path, "rb");
    ck_assert_ptr_nonnull(file);
    size_t length = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[length] = 0;
    ck_assert_str_eq(text, expected);
}

/* ---- events --------------------------------------------------------------------------- */

static const EventStep row = {.step = 10,
                              .loss = 0.5,
                              .accuracy = 0.25,
                              .learning_rate = 1e-3,
                              .gradient_norm = HUGE_VAL,
                              .tokens = 163840,
                              .tokens_per_second = 1234.5,
                              .seconds = 1e-7};
#define ROW_TEXT                                                                                   \
    "{\"event\":\"step\",\"step\":10,\"loss\":0.5,\"accuracy\":0.25,\"learning_rate\":0.001,"      \
    "\"gradient_norm\":null,\"tokens\":163840,\"tokens_per_second\":1234.5,\"seconds\":1e-7}\n"
#define START_TEXT "{\"event\":\"start\",\"path\":\"configs/größe.lua\"}\n"

static void write_start(Events *events) {
    Json *line = events_begin(events, "start");
    json_key(line, "path");
    json_text(line, "configs/größe.lua");
    ck_assert_int_eq(events_end(events), 0);
}

START_TEST(events_are_appended) {
    Events events;
    ck_assert_int_eq(events_open(&events, path, 0, false), 0);
    write_start(&events);
    int64_t after_start = events.length;
    ck_assert_int_eq(after_start, (int64_t)strlen(START_TEXT));
    ck_assert_int_eq(events_step(&events, &row), 0);
    ck_assert_int_eq(events_step(&events, &row), 0);
    ck_assert_int_eq(events_sync(&events), 0);
    ck_assert_int_eq(events.length, (int64_t)strlen(START_TEXT ROW_TEXT ROW_TEXT));
    ck_assert_int_eq(events_close(&events), 0);
    assert_file(START_TEXT ROW_TEXT ROW_TEXT);

    /* Resumed from a checkpoint of the start: the rest is cut, the same lines come again. */
    ck_assert_int_eq(events_open(&events, path, after_start, false), 0);
    ck_assert_int_eq(events.length, after_start);
    assert_file(START_TEXT);
    ck_assert_int_eq(events_step(&events, &row), 0);
    ck_assert_int_eq(events_close(&events), 0);
    assert_file(START_TEXT ROW_TEXT);

    /* Started again. */
    ck_assert_int_eq(events_open(&events, path, 0, false), 0);
    ck_assert_int_eq(events_close(&events), 0);
    assert_file("");
}
END_TEST

/* Somebody cut the log in the middle of a line, or removed it. */
START_TEST(events_of_a_log_that_was_cut) {
    FILE *file = fopen(path, "wb");
    fputs(START_TEXT "{\"event\":\"st", file);
    fclose(file);
    Events events;
    ck_assert_int_eq(events_open(&events, path, 4000, false), 0);
    ck_assert_int_eq(events.length, (int64_t)strlen(START_TEXT));
    ck_assert_int_eq(events_step(&events, &row), 0);
    ck_assert_int_eq(events_close(&events), 0);
    assert_file(START_TEXT ROW_TEXT);

    /* Somebody replaced it: the checkpoint's length is in the middle of a line. */
    ck_assert_int_eq(events_open(&events, path, (int64_t)strlen(START_TEXT) + 10, false), 0);
    ck_assert_int_eq(events.length, (int64_t)strlen(START_TEXT));
    ck_assert_int_eq(events_close(&events), 0);
    assert_file(START_TEXT);

    unlink(path);
    ck_assert_int_eq(events_open(&events, path, 4000, false), 0);
    ck_assert_int_eq(events.length, 0);
    write_start(&events);
    ck_assert_int_eq(events_close(&events), 0);
    assert_file(START_TEXT);
}
END_TEST

START_TEST(events_say_what_failed) {
    Events events;
    char missing[96];
    snprintf(missing, sizeof missing, "%s/no/file", folder);
    ck_assert_int_eq(events_open(&events, missing, 0, false), ENOENT);
    ck_assert_int_eq(events_open(&events, folder, 0, false), EISDIR);

    /* A file may grow to 100 bytes: the second line does not fit, and no part of it stays. */
    signal(SIGXFSZ, SIG_IGN);
    struct rlimit before, small;
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &before), 0);
    ck_assert_int_eq(events_open(&events, path, 0, false), 0);
    write_start(&events);
    small = before;
    small.rlim_cur = 100;
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
    int error = events_step(&events, &row);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &before), 0);
    ck_assert_int_eq(error, EFBIG);
    ck_assert_int_eq(events.length, (int64_t)strlen(START_TEXT));
    assert_file(START_TEXT);
    /* And there is room again. */
    ck_assert_int_eq(events_step(&events, &row), 0);
    ck_assert_int_eq(events_close(&events), 0);
    assert_file(START_TEXT ROW_TEXT);
}
END_TEST

START_TEST(events_are_echoed) {
    char copy[96];
    snprintf(copy, sizeof copy, "%s/copy", folder);
    fflush(stdout);
    int terminal = dup(STDOUT_FILENO), to = open(copy, O_RDWR | O_CREAT | O_TRUNC, 0600);
    ck_assert(to >= 0 && dup2(to, STDOUT_FILENO) == STDOUT_FILENO);
    Events events;
    ck_assert_int_eq(events_open(&events, path, 0, true), 0);
    write_start(&events);
    int error = events_step(&events, &row);
    /* A full disk under stdout is an error too. */
    int full = open("/dev/full", O_WRONLY);
    ck_assert(full >= 0 && dup2(full, STDOUT_FILENO) == STDOUT_FILENO);
    int error_full = events_step(&events, &row);
    dup2(terminal, STDOUT_FILENO);
    char text[1024] = "";
    ck_assert(pread(to, text, sizeof text - 1, 0) > 0);
    unlink(copy);
    ck_assert_int_eq(error, 0);
    ck_assert_int_eq(error_full, ENOSPC);
    ck_assert_str_eq(text, START_TEXT ROW_TEXT);
    ck_assert_int_eq(events_close(&events), 0);
    assert_file(START_TEXT ROW_TEXT ROW_TEXT);
}
END_TEST

/* ---- lock ----------------------------------------------------------------------------- */

START_TEST(lock_is_exclusive) {
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    FILE *old = fopen(path, "wb"); /* of a dead owner with a long name */
    fprintf(old, "%s.example.org 1234567890\n", host);
    fclose(old);
    int ready[2];
    ck_assert_int_eq(pipe(ready), 0);
    pid_t owner = fork();
    if (!owner) {
        Lock lock;
        char answer = lock_take(&lock, path) ? 'y' : 'n';
        if (write(ready[1], &answer, 1) != 1) _exit(1);
        pause();
        _exit(0);
    }
    char answer = 0;
    ck_assert_int_eq(read(ready[0], &answer, 1), 1);
    ck_assert_int_eq(answer, 'y');

    Lock lock;
    ck_assert(!lock_take(&lock, path));
    ck_assert_int_eq(lock.error, EWOULDBLOCK);
    ck_assert_str_eq(lock.host, host);
    ck_assert_int_eq(lock.pid, owner);

    ck_assert(lock_look(&lock, path));
    ck_assert_str_eq(lock.host, host);
    ck_assert_int_eq(lock.pid, owner);

    /* A dead owner's lock is free at once, whatever its text says. */
    kill(owner, SIGKILL);
    ck_assert_int_eq(waitpid(owner, NULL, 0), owner);
    ck_assert(lock_take(&lock, path));
    ck_assert(fcntl(lock.fd, F_GETFD) & FD_CLOEXEC);
    char expected[300];
    snprintf(expected, sizeof expected, "%s %ld\n", host, (long)getpid());
    assert_file(expected);

    /* Also within a process, until it is released. */
    Lock second;
    ck_assert(!lock_take(&second, path));
    ck_assert_int_eq(second.pid, getpid());
    lock_release(&lock);
    ck_assert(lock_take(&second, path));
    lock_release(&second);
}
END_TEST

/* Whoever looks leaves no trace, and is in nobody's way. */
START_TEST(lock_is_looked_at) {
    Lock lock;
    ck_assert(!lock_look(&lock, path));
    ck_assert_int_eq(access(path, F_OK), -1);
    FILE *old = fopen(path, "wb");
    fputs("there 12\n", old);
    fclose(old);
    ck_assert(!lock_look(&lock, path));
    assert_file("there 12\n");

    int ready[2];
    ck_assert_int_eq(pipe(ready), 0);
    const pid_t looks = fork(); /* for long */
    if (!looks) {
        const int fd = open(path, O_RDONLY);
        static const struct timespec moment = {.tv_nsec = 30000000};
        if (flock(fd, LOCK_SH) || write(ready[1], "y", 1) != 1) _exit(1);
        nanosleep(&moment, NULL);
        _exit(0);
    }
    char answer;
    ck_assert_int_eq(read(ready[0], &answer, 1), 1);
    ck_assert(!lock_look(&lock, path));
    ck_assert(lock_take(&lock, path));
    lock_release(&lock);
    ck_assert_int_eq(waitpid(looks, NULL, 0), looks);
}
END_TEST

START_TEST(lock_says_what_failed) {
    Lock lock;
    char missing[96];
    snprintf(missing, sizeof missing, "%s/no/file", folder);
    ck_assert(!lock_take(&lock, missing));
    ck_assert_int_eq(lock.error, ENOENT);
    ck_assert(!lock_take(&lock, folder));
    ck_assert_int_eq(lock.error, EISDIR);
}
END_TEST

/* ---- stop ----------------------------------------------------------------------------- */

/* Signals are for good, so each body runs in a process of its own, with or without Check's fork.
   Nothing is ignored there, as it may be under nohup or behind a shell's &. Returns its exit
   status, or minus the signal that ended it. */
static int run_apart(int (*body)(int), int argument) {
    pid_t child = fork();
    if (!child) {
        signal(SIGINT, SIG_DFL);
        signal(SIGHUP, SIG_DFL);
        _exit(body(argument));
    }
    int status = 0;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/* The first signal asks, more of the others change nothing. */
static int ask_to_stop(int number) {
    stop_install();
    if (stop_requested() || stop_signal()) return 1;
    raise(number);
    if (!stop_requested() || stop_signal() != number) return 2;
    raise(SIGTERM);
    raise(SIGTERM);
    return stop_signal() == number ? 0 : 3;
}

START_TEST(signals_set_a_flag) {
    static const int asking[] = {SIGINT, SIGTERM, SIGUSR1, SIGHUP};
    for (size_t i = 0; i < sizeof asking / sizeof *asking; i++)
        ck_assert_int_eq(run_apart(ask_to_stop, asking[i]), 0);
}
END_TEST

/* One SIGINT after `first`; a second one leaves before the return. */
static int interrupt_after(int first) {
    stop_install();
    raise(first);
    raise(SIGINT);
    return stop_signal() == first ? 0 : 1;
}

START_TEST(second_interrupt_leaves) {
    ck_assert_int_eq(run_apart(interrupt_after, SIGTERM), 0);
    ck_assert_int_eq(run_apart(interrupt_after, SIGINT), 130);
}
END_TEST

static int stay_ignored(int number) {
    signal(number, SIG_IGN);
    stop_install();
    raise(number);
    return stop_requested();
}

START_TEST(ignored_signals_stay_ignored) {
    ck_assert_int_eq(run_apart(stay_ignored, SIGINT), 0);
    ck_assert_int_eq(run_apart(stay_ignored, SIGHUP), 0);
    ck_assert_int_eq(run_apart(stay_ignored, SIGTERM), 1);
}
END_TEST

/* Returns the errno of a write to a pipe that nobody reads. */
static int write_to_nobody(int install) {
    if (install) stop_install();
    int ends[2];
    if (pipe(ends)) return 1;
    close(ends[0]);
    return write(ends[1], "x", 1) == -1 && !stop_requested() ? errno : 0;
}

START_TEST(broken_pipes_are_errors) {
    ck_assert_int_eq(run_apart(write_to_nobody, 1), EPIPE);
    ck_assert_int_eq(run_apart(write_to_nobody, 0), -SIGPIPE);
}
END_TEST

Suite *suite_records(void);
Suite *suite_records(void) {
    Suite *suite = suite_create("records");
    TCase *json = tcase_create("json");
    tcase_add_loop_test(json, json_numbers, 0, sizeof numbers / sizeof *numbers);
    tcase_add_test(json, json_numbers_read_back);
    tcase_add_test(json, json_values);
    tcase_add_test(json, json_grows);
    suite_add_tcase(suite, json);

    TCase *events = tcase_create("events");
    tcase_add_checked_fixture(events, make_folder, remove_folder);
    tcase_add_test(events, events_are_appended);
    tcase_add_test(events, events_of_a_log_that_was_cut);
    tcase_add_test(events, events_say_what_failed);
    tcase_add_test(events, events_are_echoed);
    suite_add_tcase(suite, events);

    TCase *lock = tcase_create("lock");
    tcase_add_checked_fixture(lock, make_folder, remove_folder);
    tcase_add_test(lock, lock_is_exclusive);
    tcase_add_test(lock, lock_is_looked_at);
    tcase_add_test(lock, lock_says_what_failed);
    suite_add_tcase(suite, lock);

    TCase *stop = tcase_create("stop");
    tcase_add_test(stop, signals_set_a_flag);
    tcase_add_test(stop, second_interrupt_leaves);
    tcase_add_test(stop, ignored_signals_stay_ignored);
    tcase_add_test(stop, broken_pipes_are_errors);
    suite_add_tcase(suite, stop);
    return suite;
}

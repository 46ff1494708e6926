// SPDX-License-Identifier: Apache-2.0
// `npusim` from outside, run in this folder so that the paths in messages are short and the
// same everywhere.
//
//   cli/NAME.cmd   the arguments, in words; NAME.out and NAME.err are what it prints (no file:
//                  nothing), NAME.status how it ends (no file: 0). "..." in them stands for any
//                  text. Of several lines all are run and the last is compared; OUT_a and OUT_b are
//                  folders that they may write.
//   */errors.txt   an unindented line holds arguments; the indented one after it the exit
//                  status and the one line on stderr. Nothing may be on stdout. A `check` is
//                  repeated as a `run --out`, which must say the same and write no file.
//
// With NPUSIM_UPDATE=1 in the environment the files are rewritten to what the program prints.
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define HERE NPUSIM_SOURCE "/tests/"
#define OUT_FOLDER NPUSIM_BUILD "/test_cli_out"

enum { MAX_WORDS = 64, PATH_SIZE = 512 };

typedef struct run {
    int status;
    char *out;
    char *err;
} run;

static bool updating(void) {
    const char *update = getenv("NPUSIM_UPDATE");
    return update != NULL && strcmp(update, "1") == 0;
}

// ---- files ---------------------------------------------------------------------------------

static char *read_stream(FILE *file) {
    size_t size = 0, capacity = 4096;
    char *text = malloc(capacity);
    assert_non_null(text);
    size_t n;
    while ((n = fread(text + size, 1, capacity - size - 1, file)) > 0) {
        size += n;
        if (capacity - size < 2) {
            capacity *= 2;
            char *grown = realloc(text, capacity);
            assert_non_null(grown);
            text = grown;
        }
    }
    text[size] = '\0';
    return text;
}

// The text of a file; `missing` when there is none.
static char *read_file(const char *path, const char *missing) {
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return strdup(missing);
    char *text = read_stream(file);
    fclose(file);
    return text;
}

// Writes a golden file; an empty one is removed.
static void write_file(const char *path, const char *text) {
    if (text[0] == '\0') {
        remove(path);
        return;
    }
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

// ---- running -------------------------------------------------------------------------------

static void child(char **argv, int out, int err) {
    if (chdir(HERE) != 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0)
        _exit(126);
    setenv("NPUSIM_CONFIGS", "../configs", 1);
    setenv("LC_ALL", "C", 1);
    unsetenv("ARGP_HELP_FMT");
    execv(NPUSIM_PROGRAM, argv);
    _exit(127);
}

// Runs the program; its stdout goes to the file `out_path`, or into the result when that is
// NULL.
static run run_words(char **words, const char *out_path) {
    FILE *out = out_path != NULL ? fopen(out_path, "w") : tmpfile();
    FILE *err = tmpfile();
    assert_non_null(out);
    assert_non_null(err);
    fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        child(words, fileno(out), fileno(err));
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    run r = {.status = WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status)};
    rewind(out);
    rewind(err);
    r.out = out_path != NULL ? strdup("") : read_stream(out);
    r.err = read_stream(err);
    fclose(out);
    fclose(err);
    return r;
}

// The words of `line` after "npusim"; `copy` holds them.
static int split(char *copy, char **words) {
    static char program[] = "npusim";
    int count = 0;
    char *rest = NULL;
    words[count++] = program;
    for (char *w = strtok_r(copy, " \n", &rest); w != NULL; w = strtok_r(NULL, " \n", &rest)) {
        assert_true(count < MAX_WORDS - 1);
        words[count++] = w;
    }
    words[count] = NULL;
    return count;
}

static run run_line(const char *line, const char *out_path) {
    char *words[MAX_WORDS];
    char *copy = strdup(line);
    assert_non_null(copy);
    split(copy, words);
    run r = run_words(words, out_path);
    free(copy);
    return r;
}

static void free_run(run *r) {
    free(r->out);
    free(r->err);
}

// ---- comparing -----------------------------------------------------------------------------

static size_t line_length(const char *text) {
    size_t n = strcspn(text, "\n");
    return text[n] == '\n' ? n + 1 : n;
}

// True when the texts agree, where "..." of `want` stands for any text. Otherwise *want_at and
// *got_at are where they part.
static bool agree(const char *want, const char *got, const char **want_at, const char **got_at) {
    const char *after = NULL, *tried = NULL; // the last "...", and where its text ends so far
    while (*want != '\0' || *got != '\0') {
        if (strncmp(want, "...", 3) == 0) {
            want += 3;
            after = want;
            tried = got;
        } else if (*want == *got) {
            want++;
            got++;
        } else {
            *want_at = want;
            *got_at = got;
            if (after == NULL || *got == '\0')
                return false;
            want = after;
            got = ++tried;
        }
    }
    return true;
}

// Prints up to a few lines of `text`, each behind `mark`.
static void print_lines(char mark, const char *text) {
    for (int i = 0; i < 8 && *text != '\0'; i++) {
        size_t n = line_length(text);
        print_message("%c%.*s%s", mark, (int)n, text, text[n - 1] == '\n' ? "" : "\n");
        text += n;
    }
}

static bool compare(const char *what, const char *stream, const char *want, const char *got) {
    const char *want_at = want, *got_at = got;
    if (agree(want, got, &want_at, &got_at))
        return true;
    while (want_at > want && want_at[-1] != '\n')
        want_at--;
    while (got_at > got && got_at[-1] != '\n')
        got_at--;
    print_message("npusim %s\n%s differs, expected (-) and printed (+) from there on:\n", what,
                  stream);
    print_lines('-', want_at);
    print_lines('+', got_at);
    return false;
}

// ---- cli/*.cmd -----------------------------------------------------------------------------

static bool golden_stream(const char *name, const char *ending, const char *got) {
    char path[PATH_SIZE];
    snprintf(path, sizeof path, HERE "cli/%s.%s", name, ending);
    char *want = read_file(path, "");
    const char *a, *b;
    if (updating() && !agree(want, got, &a, &b))
        write_file(path, got);
    bool same = updating() || compare(name, ending, want, got);
    free(want);
    return same;
}

// `text` with each `from` replaced; frees it.
static char *replace(char *text, const char *from, const char *to) {
    char *now = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&now, &size);
    assert_non_null(out);
    const char *at = text;
    for (const char *hit; (hit = strstr(at, from)) != NULL; at = hit + strlen(from))
        fprintf(out, "%.*s%s", (int)(hit - at), at, to);
    fputs(at, out);
    assert_int_equal(fclose(out), 0);
    free(text);
    return now;
}

static void remove_folder(const char *name) {
    DIR *folder = opendir(name);
    struct dirent *entry;
    char path[PATH_SIZE];
    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        snprintf(path, sizeof path, "%s/%s", name, entry->d_name);
        if (unlink(path) != 0 && entry->d_name[0] != '.') // a folder of a rank
            remove_folder(path);
    }
    if (folder != NULL)
        closedir(folder);
    rmdir(name);
}

// Runs all lines but the last, which only prepare, then the last.
static run run_lines(const char *lines) {
    size_t n = line_length(lines);
    if (lines[n] != '\0') {
        remove_folder(OUT_FOLDER "_a");
        remove_folder(OUT_FOLDER "_b");
    }
    while (lines[n] != '\0') {
        char *line = strndup(lines, n);
        assert_non_null(line);
        run before = run_line(line, NULL);
        assert_int_equal(before.status, 0);
        free_run(&before);
        free(line);
        lines += n;
        n = line_length(lines);
    }
    run r = run_line(lines, NULL);
    r.out = replace(r.out, OUT_FOLDER, "OUT");
    r.err = replace(r.err, OUT_FOLDER, "OUT");
    return r;
}

static bool golden(const char *name) {
    char path[PATH_SIZE], status[16] = "";
    snprintf(path, sizeof path, HERE "cli/%s.cmd", name);
    char *line = replace(read_file(path, ""), "OUT_", OUT_FOLDER "_");
    run r = run_lines(line);
    if (r.status != 0)
        snprintf(status, sizeof status, "%d\n", r.status);
    bool out = golden_stream(name, "out", r.out);
    bool err = golden_stream(name, "err", r.err);
    bool ended = golden_stream(name, "status", status);
    free(line);
    free_run(&r);
    return out && err && ended;
}

static void prints_what_is_promised(void **state) {
    (void)state;
    struct dirent **entries = NULL;
    int count = scandir(HERE "cli", &entries, NULL, alphasort);
    int wrong = 0, seen = 0;
    for (int i = 0; i < count; i++) {
        char *dot = strrchr(entries[i]->d_name, '.');
        if (dot != NULL && strcmp(dot, ".cmd") == 0) {
            *dot = '\0';
            wrong += !golden(entries[i]->d_name);
            seen++;
        }
        free(entries[i]);
    }
    free(entries);
    assert_true(seen > 0);
    assert_int_equal(wrong, 0);
}

// ---- errors.txt ----------------------------------------------------------------------------

static bool exists(const char *path) {
    struct stat s;
    return lstat(path, &s) == 0;
}

// The error as errors.txt has it: "  2 file:1:2: sentence\n".
static char *error_text(const run *r) {
    size_t size = strlen(r->err) + 32;
    char *text = malloc(size);
    assert_non_null(text);
    snprintf(text, size, "  %d %s", r->status, r->err);
    return text;
}

// The same input as a run: "check ..." with the first word replaced.
static bool same_as_run(const char *line, const char *want) {
    char as_run[1024];
    snprintf(as_run, sizeof as_run, "run%s --no-plot --out %s", line + strlen("check"), OUT_FOLDER);
    run r = run_line(as_run, NULL);
    char *got = error_text(&r);
    bool same = compare(as_run, "stdout", "", r.out);
    same = compare(as_run, "stderr", want, got) && same;
    if (exists(OUT_FOLDER)) {
        print_message("npusim %s\nleft a folder behind\n", as_run);
        same = false;
    }
    free(got);
    free_run(&r);
    return same;
}

// Runs one case; what it printed is appended to `now`.
static bool error_case(const char *line, const char *want, FILE *now) {
    run r = run_line(line, NULL);
    char *got = error_text(&r);
    bool same = compare(line, "stdout", "", r.out);
    if (r.status == 0 || strchr(r.err, '\n') == NULL || strchr(r.err, '\n')[1] != '\0') {
        print_message("npusim %s\nexit status %d and not one line on stderr:\n%s", line, r.status,
                      r.err);
        same = false;
    }
    if (!updating())
        same = compare(line, "stderr", want, got) && same;
    bool usage = strstr(r.err, " Try 'npusim") != NULL; // of check: its options are not run's
    if (strncmp(line, "check ", 6) == 0 && !usage)
        same = same_as_run(line, got) && same;
    fputs(got, now);
    free(got);
    free_run(&r);
    return same;
}

static void check_errors(const char *path) {
    char *text = read_file(path, "");
    char *now_text = NULL;
    size_t now_size = 0;
    FILE *now = open_memstream(&now_text, &now_size);
    assert_non_null(now);
    int wrong = 0, seen = 0;
    for (char *at = text; *at != '\0';) {
        size_t n = line_length(at);
        fwrite(at, 1, n, now);
        if (*at == '#' || *at == '\n') {
            at += n;
            continue;
        }
        char *want = at + n;
        size_t want_length = *want == ' ' ? line_length(want) : 0;
        char *line = strndup(at, n - 1), *want_text = strndup(want, want_length);
        wrong += !error_case(line, want_text, now);
        seen++;
        free(line);
        free(want_text);
        at = want + want_length;
    }
    assert_int_equal(fclose(now), 0);
    if (updating())
        write_file(path, now_text);
    free(now_text);
    free(text);
    assert_true(seen > 0);
    assert_int_equal(wrong, 0);
}

static void a_wrong_command_line_gets_one_line(void **state) {
    (void)state;
    check_errors(HERE "cli/errors.txt");
}

static void bad_input_gets_one_line(void **state) {
    (void)state;
    check_errors(HERE "bad/errors.txt");
}

// A file that no case names tests nothing.
static void every_bad_file_is_used(void **state) {
    (void)state;
    char *text = read_file(HERE "bad/errors.txt", "");
    struct dirent **entries = NULL;
    int count = scandir(HERE "bad", &entries, NULL, alphasort);
    int unused = 0;
    for (int i = 0; i < count; i++) {
        char name[PATH_SIZE];
        const char *dot = strrchr(entries[i]->d_name, '.');
        snprintf(name, sizeof name, "bad/%s", entries[i]->d_name);
        if (dot != NULL && strcmp(dot, ".yaml") == 0 && strstr(text, name) == NULL) {
            print_message("%s is in no case of bad/errors.txt\n", name);
            unused++;
        }
        free(entries[i]);
    }
    free(entries);
    free(text);
    assert_int_equal(unused, 0);
}

// ---- what files cannot say -----------------------------------------------------------------

static void a_failed_write_is_an_error(void **state) {
    (void)state;
    static const char *const lines[] = {"--help", "--version", "die --list", "check cli/good.yaml",
                                        "run cli/good.yaml"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        run r = run_line(lines[i], "/dev/full");
        print_message("npusim %s > /dev/full\n", lines[i]);
        assert_string_equal(r.err, "npusim: cannot write to standard output: "
                                   "No space left on device\n");
        assert_int_equal(r.status, 3);
        free_run(&r);
    }
}

static void a_name_with_a_newline_stays_in_one_line(void **state) {
    (void)state;
    char program[] = "npusim", command[] = "check", file[] = "no\nfile\t.yaml";
    run r = run_words((char *[]){program, command, file, NULL}, NULL);
    assert_string_equal(r.err, "npusim: cannot read no file .yaml: No such file or directory\n");
    assert_string_equal(r.out, "");
    assert_int_equal(r.status, 3);
    free_run(&r);
}

static void the_command_line_is_recorded(void **state) {
    (void)state;
    run r = run_line("run --set T=16 cli/good.yaml --no-plot --out " OUT_FOLDER, NULL);
    assert_string_equal(r.err, "");
    assert_int_equal(r.status, 0);
    char *summary = read_file(OUT_FOLDER "/summary.json", "");
    assert_non_null(strstr(summary, "\"command\": \"npusim run --set T=16 cli/good.yaml --no-plot "
                                    "--out " OUT_FOLDER "\""));
    free(summary);
    free_run(&r);
}

static int remove_out_folder(void **state) {
    (void)state;
    remove_folder(OUT_FOLDER);
    remove_folder(OUT_FOLDER "_a");
    remove_folder(OUT_FOLDER "_b");
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(prints_what_is_promised, remove_out_folder,
                                        remove_out_folder),
        cmocka_unit_test_setup(a_wrong_command_line_gets_one_line, remove_out_folder),
        cmocka_unit_test_setup(bad_input_gets_one_line, remove_out_folder),
        cmocka_unit_test(every_bad_file_is_used),
        cmocka_unit_test(a_failed_write_is_an_error),
        cmocka_unit_test(a_name_with_a_newline_stays_in_one_line),
        cmocka_unit_test_setup_teardown(the_command_line_is_recorded, remove_out_folder,
                                        remove_out_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

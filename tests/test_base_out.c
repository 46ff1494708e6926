// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <dirent.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "out.h"

typedef struct fixture {
    char base[64];   // a fresh folder
    char folder[96]; // a folder in it that is not there yet
    npu_out *out;
    npu_error err;
} fixture;

static int set_up(void **state) {
    fixture *f = calloc(1, sizeof *f);
    if (f == NULL)
        return -1;
    strcpy(f->base, "/tmp/npu_out_XXXXXX");
    if (mkdtemp(f->base) == NULL) {
        free(f);
        return -1;
    }
    snprintf(f->folder, sizeof f->folder, "%s/x/y", f->base);
    *state = f;
    return 0;
}

static int tear_down(void **state) {
    fixture *f = *state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", f->base);
    int rc = system(command);
    free(f);
    return rc;
}

static const char *in(const char *folder, const char *name) {
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static bool exists(const char *path) {
    return access(path, F_OK) == 0;
}

static int entries(const char *folder) {
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    int count = -2; // "." and ".."
    while (readdir(dir) != NULL)
        count++;
    closedir(dir);
    return count;
}

static void assert_holds(const char *path, const char *expected) {
    char text[64] = {0};
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_true(fread(text, 1, sizeof text - 1, file) < sizeof text - 1);
    fclose(file);
    assert_string_equal(text, expected);
}

static void put(const char *path, const char *text) {
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static void begin(fixture *f, const char *folder) {
    assert_int_equal(npu_out_begin(folder, &f->out, &f->err), NPU_OK);
    assert_non_null(f->out);
}

static FILE *open_file(fixture *f, const char *name) {
    FILE *file = npu_out_file(f->out, name, &f->err);
    assert_string_equal(f->err.text, "");
    assert_non_null(file);
    return file;
}

static void a_committed_set_is_there_whole_and_alone(void **state) {
    fixture *f = *state;
    begin(f, f->folder);
    fputs("one", open_file(f, "a.txt"));
    fputs("two", open_file(f, "b.txt"));
    assert_int_equal(npu_out_commit(f->out, &f->err), NPU_OK);
    assert_int_equal(entries(f->folder), 2);
    assert_holds(in(f->folder, "a.txt"), "one");
    assert_holds(in(f->folder, "b.txt"), "two");
}

static void nothing_has_its_name_before_the_commit(void **state) {
    fixture *f = *state;
    begin(f, f->base);
    fflush(open_file(f, "a.txt"));
    assert_false(exists(in(f->base, "a.txt")));
    assert_int_equal(entries(f->base), 1);
    assert_int_equal(npu_out_commit(f->out, &f->err), NPU_OK);
    assert_true(exists(in(f->base, "a.txt")));
}

static void results_have_the_permissions_of_any_new_file(void **state) {
    fixture *f = *state;
    mode_t mask = umask(022);
    begin(f, f->base);
    open_file(f, "a.txt");
    assert_int_equal(npu_out_commit(f->out, &f->err), NPU_OK);
    umask(mask);
    struct stat info;
    assert_int_equal(stat(in(f->base, "a.txt"), &info), 0);
    assert_int_equal(info.st_mode & 0777, 0644);
}

static void a_file_written_by_someone_else_is_renamed_too(void **state) {
    fixture *f = *state;
    begin(f, f->base);
    const char *path = npu_out_path(f->out, "db", &f->err);
    assert_non_null(path);
    put(path, "rows");
    assert_int_equal(npu_out_commit(f->out, &f->err), NPU_OK);
    assert_int_equal(entries(f->base), 1);
    assert_holds(in(f->base, "db"), "rows");
}

static void a_commit_replaces_an_older_file(void **state) {
    fixture *f = *state;
    put(in(f->base, "a.txt"), "old");
    begin(f, f->base);
    fputs("new", open_file(f, "a.txt"));
    assert_holds(in(f->base, "a.txt"), "old");
    assert_int_equal(npu_out_commit(f->out, &f->err), NPU_OK);
    assert_holds(in(f->base, "a.txt"), "new");
}

static void a_discarded_set_leaves_no_file_and_no_folder(void **state) {
    fixture *f = *state;
    begin(f, f->folder);
    fputs("one", open_file(f, "a.txt"));
    assert_non_null(npu_out_path(f->out, "b", &f->err));
    npu_out_discard(f->out);
    assert_int_equal(entries(f->base), 0);
    assert_true(exists(f->base));
}

static void a_discard_keeps_what_was_there_before(void **state) {
    fixture *f = *state;
    put(in(f->base, "a.txt"), "old");
    begin(f, f->base);
    fputs("new", open_file(f, "a.txt"));
    npu_out_discard(f->out);
    assert_int_equal(entries(f->base), 1);
    assert_holds(in(f->base, "a.txt"), "old");
}

static void a_discard_keeps_a_made_folder_that_others_use(void **state) {
    fixture *f = *state;
    begin(f, f->folder);
    open_file(f, "a.txt");
    put(in(f->folder, "other"), "x");
    npu_out_discard(f->out);
    assert_int_equal(entries(f->folder), 1);
}

static void discarding_nothing_is_harmless(void **state) {
    (void)state;
    npu_out_discard(NULL);
}

static void two_sets_for_the_same_file_do_not_meet(void **state) {
    fixture *f = *state;
    npu_out *other = NULL;
    begin(f, f->base);
    assert_int_equal(npu_out_begin(f->base, &other, &f->err), NPU_OK);
    fputs("one", open_file(f, "a.txt"));
    FILE *file = npu_out_file(other, "a.txt", &f->err);
    assert_non_null(file);
    fputs("two", file);
    assert_int_equal(npu_out_commit(f->out, &f->err), NPU_OK);
    assert_holds(in(f->base, "a.txt"), "one");
    assert_int_equal(npu_out_commit(other, &f->err), NPU_OK);
    assert_holds(in(f->base, "a.txt"), "two");
}

static void a_folder_that_cannot_be_made_is_named(void **state) {
    fixture *f = *state;
    char message[256];
    put(in(f->base, "x"), "a file");
    assert_int_equal(npu_out_begin(f->folder, &f->out, &f->err), NPU_IO);
    snprintf(message, sizeof message, "cannot make the folder %s/x: Not a directory", f->base);
    assert_string_equal(f->err.text, message);
    assert_null(f->out);
}

static void a_folder_without_write_permission_is_named(void **state) {
    fixture *f = *state;
    char message[256];
    if (geteuid() == 0)
        skip(); // permissions do not hold root back
    assert_int_equal(chmod(f->base, 0555), 0);
    npu_status status = npu_out_begin(f->base, &f->out, &f->err);
    assert_int_equal(chmod(f->base, 0755), 0);
    assert_int_equal(status, NPU_IO);
    snprintf(message, sizeof message, "cannot write to the folder %s: Permission denied", f->base);
    assert_string_equal(f->err.text, message);
}

static void a_failed_write_leaves_nothing_of_the_set(void **state) {
    fixture *f = *state;
    char message[256];
    struct rlimit old;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    struct rlimit small = {100, old.rlim_max};
    begin(f, f->folder);
    fputs("fits", open_file(f, "a.txt"));
    FILE *file = open_file(f, "b.txt");
    for (int i = 0; i < 200; i++)
        fputc('x', file);
    signal(SIGXFSZ, SIG_IGN); // so that the write fails with EFBIG instead
    setrlimit(RLIMIT_FSIZE, &small);
    npu_status status = npu_out_commit(f->out, &f->err);
    setrlimit(RLIMIT_FSIZE, &old);
    signal(SIGXFSZ, SIG_DFL);
    assert_int_equal(status, NPU_IO);
    snprintf(message, sizeof message, "cannot write %s/b.txt: File too large", f->folder);
    assert_string_equal(f->err.text, message);
    assert_int_equal(entries(f->base), 0);
}

static void a_target_that_is_a_folder_stops_the_whole_set(void **state) {
    fixture *f = *state;
    char message[256];
    assert_int_equal(mkdir(in(f->base, "b.txt"), 0777), 0);
    put(in(f->base, "a.txt"), "old");
    begin(f, f->base);
    fputs("new", open_file(f, "a.txt"));
    open_file(f, "b.txt");
    assert_int_equal(npu_out_commit(f->out, &f->err), NPU_IO);
    snprintf(message, sizeof message, "cannot write %s/b.txt: Is a directory", f->base);
    assert_string_equal(f->err.text, message);
    assert_int_equal(entries(f->base), 2);
    assert_holds(in(f->base, "a.txt"), "old");
}

static void a_temporary_that_vanished_is_an_error(void **state) {
    fixture *f = *state;
    char message[256];
    begin(f, f->base);
    const char *path = npu_out_path(f->out, "db", &f->err);
    assert_non_null(path);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(npu_out_commit(f->out, &f->err), NPU_IO);
    snprintf(message, sizeof message, "cannot write %s/db: No such file or directory", f->base);
    assert_string_equal(f->err.text, message);
}

static void a_name_is_used_once_and_stays_in_the_folder(void **state) {
    fixture *f = *state;
    char message[256];
    npu_error twice = {0};
    begin(f, f->base);
    open_file(f, "a.txt");
    assert_null(npu_out_file(f->out, "a.txt", &twice));
    snprintf(message, sizeof message, "cannot write %s/a.txt: the name is used twice", f->base);
    assert_string_equal(twice.text, message);
    assert_null(npu_out_path(f->out, "../b", &f->err));
    snprintf(message, sizeof message, "cannot write %s/../b: not a file name", f->base);
    assert_string_equal(f->err.text, message);
    npu_out_discard(f->out);
}

static void the_present_folder_and_trailing_slashes_work(void **state) {
    fixture *f = *state;
    char folder[128];
    snprintf(folder, sizeof folder, "%s//", f->folder);
    begin(f, folder);
    open_file(f, "a.txt");
    npu_out_discard(f->out);
    assert_int_equal(entries(f->base), 0);
    assert_int_equal(chdir(f->base), 0);
    begin(f, "");
    open_file(f, "a.txt");
    assert_int_equal(npu_out_commit(f->out, &f->err), NPU_OK);
    assert_int_equal(chdir("/"), 0);
    assert_true(exists(in(f->base, "a.txt")));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_committed_set_is_there_whole_and_alone),
        TEST(nothing_has_its_name_before_the_commit),
        TEST(results_have_the_permissions_of_any_new_file),
        TEST(a_file_written_by_someone_else_is_renamed_too),
        TEST(a_commit_replaces_an_older_file),
        TEST(a_discarded_set_leaves_no_file_and_no_folder),
        TEST(a_discard_keeps_what_was_there_before),
        TEST(a_discard_keeps_a_made_folder_that_others_use),
        cmocka_unit_test(discarding_nothing_is_harmless),
        TEST(two_sets_for_the_same_file_do_not_meet),
        TEST(a_folder_that_cannot_be_made_is_named),
        TEST(a_folder_without_write_permission_is_named),
        TEST(a_failed_write_leaves_nothing_of_the_set),
        TEST(a_target_that_is_a_folder_stops_the_whole_set),
        TEST(a_temporary_that_vanished_is_an_error),
        TEST(a_name_is_used_once_and_stays_in_the_folder),
        TEST(the_present_folder_and_trailing_slashes_work),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

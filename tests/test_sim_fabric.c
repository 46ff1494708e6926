// SPDX-License-Identifier: Apache-2.0
// Fabrics: platform files read by SimGrid, and what is wrong with one told in a line.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "fabric.h"

#define FILE_NAME NPUSIM_BUILD "/test_fabric.xml"
#define PLATFORM(body)                                                                             \
    "<?xml version='1.0'?>\n"                                                                      \
    "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"                             \
    "<platform version=\"4.1\"><zone id=\"z\" routing=\"Full\">\n" body "</zone></platform>\n"
#define DIES "<host id=\"die0\" speed=\"1f\"/><host id=\"die1\" speed=\"1f\"/>\n"

static npu_status load(const char *text, int ranks, npu_fabric *fabric, npu_error *err) {
    FILE *file = fopen(FILE_NAME, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    err->text[0] = '\0';
    npu_status status = npu_fabric_load(FILE_NAME, ranks, fabric, err);
    unlink(FILE_NAME);
    return status;
}

static void assert_refused(const char *text, int ranks, const char *sentence) {
    npu_fabric fabric;
    npu_error err;
    assert_int_equal(load(text, ranks, &fabric, &err), NPU_BAD_INPUT);
    if (strstr(err.text, sentence) == NULL)
        fail_msg("'%s' does not say '%s'", err.text, sentence);
    assert_null(strchr(err.text, '\n'));
    assert_null(fabric.links);
}

// There over a shared link and a fatpipe, back over another: 100 + 50 ns and 25 ns.
static void routes_are_links_and_a_latency(void **state) {
    (void)state;
    npu_fabric f;
    npu_error err;
    npu_status status =
        load(PLATFORM(DIES "<link id=\"a\" bandwidth=\"100GBps\" latency=\"100ns\"/>\n"
                           "<link id=\"b\" bandwidth=\"30GBps\" latency=\"50ns\" "
                           "sharing_policy=\"FATPIPE\"/>\n"
                           "<link id=\"c\" bandwidth=\"12.5GBps\" latency=\"25ns\"/>\n"
                           "<route src=\"die0\" dst=\"die1\" symmetrical=\"NO\">"
                           "<link_ctn id=\"a\"/><link_ctn id=\"b\"/></route>\n"
                           "<route src=\"die1\" dst=\"die0\" symmetrical=\"NO\">"
                           "<link_ctn id=\"c\"/></route>\n"),
             2, &f, &err);
    assert_string_equal(err.text, "");
    assert_int_equal(status, NPU_OK);
    assert_int_equal(f.ranks, 2);
    assert_int_equal(f.link_count, 3);
    const npu_route *there = npu_fabric_route(&f, 0, 1), *back = npu_fabric_route(&f, 1, 0);
    assert_int_equal(there->link_count, 2);
    assert_int_equal(back->link_count, 1);
    assert_true(fabs(there->latency - 150) < 1e-6 && fabs(back->latency - 25) < 1e-6);
    const npu_fabric_link *a = &f.links[there->links[0]], *b = &f.links[there->links[1]];
    const npu_fabric_link *c = &f.links[back->links[0]];
    assert_string_equal(a->name, "a");
    assert_true(fabs(a->rate - 100) < 1e-6 && fabs(b->rate - 30) < 1e-6);
    assert_true(fabs(c->rate - 12.5) < 1e-6);
    assert_true(a->shared && !b->shared && c->shared);
    npu_fabric_free(&f);
}

// Dies of a package share SIO; others cross the plane, each by its own way in and out.
static void the_shipped_node_has_16_dies(void **state) {
    (void)state;
    npu_fabric f;
    npu_error err = {{0}};
    npu_status status = npu_fabric_load(NPUSIM_SOURCE "/configs/fabric/a3_node.xml", 16, &f, &err);
    assert_string_equal(err.text, "");
    assert_int_equal(status, NPU_OK);
    const npu_route *near = npu_fabric_route(&f, 4, 5), *far = npu_fabric_route(&f, 4, 15);
    assert_int_equal(near->link_count, 1);
    assert_string_equal(f.links[near->links[0]].name, "sio2_UP");
    assert_int_equal(far->link_count, 3);
    assert_string_equal(f.links[far->links[0]].name, "plane4_UP");
    assert_string_equal(f.links[far->links[2]].name, "plane15_DOWN");
    assert_true(fabs(far->latency - 500) < 1e-6);
    npu_fabric_free(&f);
}

static void a_wrong_platform_is_one_line(void **state) {
    (void)state;
    assert_refused("no platform\n", 2, "test_fabric.xml: SimGrid cannot read it: Parse error at");
    assert_refused(PLATFORM(DIES), 3, "test_fabric.xml: it has no host 'die2'; rank 2 would be on");
    assert_refused(PLATFORM("<host id=\"die0\" speed=\"1f\"/>\n"), 2, "it has no host 'die1'");
    assert_refused(PLATFORM(DIES), 2, "it ended without a word; most often a route");
}

static void a_missing_file_is_named(void **state) {
    (void)state;
    npu_fabric f;
    npu_error err = {{0}};
    assert_int_equal(npu_fabric_load("nowhere.xml", 2, &f, &err), NPU_IO);
    assert_string_equal(err.text, "nowhere.xml: cannot read the fabric: No such file or directory");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(routes_are_links_and_a_latency),
        cmocka_unit_test(the_shipped_node_has_16_dies),
        cmocka_unit_test(a_wrong_platform_is_one_line),
        cmocka_unit_test(a_missing_file_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

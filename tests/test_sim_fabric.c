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

typedef struct known_route { // of a shipped fabric
    const char *fabric;
    int ranks, from, to;
    double latency;       // ns
    const char *links[3]; // in order, NULL at the end
} known_route;

// Dies of a package share SIO; others cross the plane, each by its own way in and out.
static void shipped_fabrics_have_the_routes_they_describe(void **state) {
    static const known_route known[] = {
        {"a3_package", 2, 1, 0, 600, {"sio_DOWN"}},
        {"a3_node", 16, 4, 5, 600, {"sio2_UP"}},
        {"a3_node", 16, 4, 15, 500, {"plane4_UP", "switch", "plane15_DOWN"}},
        {"a3_supernode", 33, 32, 3, 5500, {"node2_link_32_UP", "level2", "node0_link_3_DOWN"}},
        {"a2_node", 8, 7, 2, 500, {"hccs2_7_DOWN"}},
        {"roce_pair", 16, 5, 0, 500, {"plane5_UP", "plane0_DOWN"}},
        {"roce_pair", 16, 15, 0, 1500, {"roce15_UP", "net", "roce0_DOWN"}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const known_route *k = &known[i];
        char path[512];
        npu_fabric f;
        npu_error err = {{0}};
        snprintf(path, sizeof path, "%s/configs/fabric/%s.xml", NPUSIM_SOURCE, k->fabric);
        npu_status status = npu_fabric_load(path, k->ranks, &f, &err);
        assert_string_equal(err.text, "");
        assert_int_equal(status, NPU_OK);
        const npu_route *route = npu_fabric_route(&f, k->from, k->to);
        assert_true(fabs(route->latency - k->latency) < 1e-6);
        int count = 0;
        for (; count < 3 && k->links[count] != NULL; count++)
            assert_string_equal(f.links[route->links[count]].name, k->links[count]);
        assert_int_equal(route->link_count, count);
        npu_fabric_free(&f);
    }
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
        cmocka_unit_test(shipped_fabrics_have_the_routes_they_describe),
        cmocka_unit_test(a_wrong_platform_is_one_line),
        cmocka_unit_test(a_missing_file_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: Apache-2.0
// Metrics of the small run, worked out by hand, and the report made of them.
#include "test_traces_fixture.h"

#include <math.h>

#include "metrics.h"
#include "report.h"

static void assert_near(double value, double expected) {
    if (fabs(value - expected) > 1e-9 * (fabs(expected) + 1))
        fail_msg("%.12g is not %.12g", value, expected);
}

static npu_metrics metrics_of(const fixture *f) {
    static const double aicpu_ns[3] = {1730, 8650, 0};
    npu_metrics metrics;
    npu_error err = {0};
    assert_int_equal(npu_metrics_make(&f->trace, &f->graph, aicpu_ns, 3, &metrics, &err), NPU_OK);
    return metrics;
}

static void kernels_are_counted_by_function(void **state) {
    (void)state;
    fixture *f = fix_new();
    npu_metrics m = metrics_of(f);
    static const int rows[] = {1, 3, 3};
    static const int blocks[] = {1, 1, 3};
    static const char *const names[] = {"mm", "fuse", "act"};
    assert_int_equal(m.kernel_count, 3);
    assert_int_equal(m.dummies, 1);
    for (int i = 0; i < 3; i++) {
        assert_string_equal(m.kernels[i].name, names[i]);
        assert_int_equal(m.kernels[i].tasks, 1);
        assert_int_equal(m.kernels[i].rows, rows[i]);
        assert_int_equal(m.kernels[i].blocks, blocks[i]);
    }
    assert_int_equal(m.kernels[1].engine, NPU_MIX);
    assert_int_equal(m.kernels[1].read_bytes, 6000);
    assert_int_equal(m.kernels[2].write_bytes, 30);
    npu_metrics_free(&m);
    free(f);
}

static void a_mix_block_lasts_from_its_first_start_to_its_last_end(void **state) {
    (void)state;
    fixture *f = fix_new();
    npu_metrics m = metrics_of(f);
    assert_near(m.kernels[0].block_mean, 4000);
    assert_near(m.kernels[1].block_mean, 11020 - 7000);
    assert_near(m.kernels[1].block_max, 4020);
    assert_near(m.kernels[2].block_mean, (2000 + 1980 + 2000) / 3.0);
    assert_near(m.kernels[2].block_max, 2000);
    npu_metrics_free(&m);
    free(f);
}

static void heads_count_from_dispatch_or_from_a_free_core(void **state) {
    (void)state;
    fixture *f = fix_new();
    npu_metrics m = metrics_of(f);
    assert_near(m.kernels[1].head_mean, (500 + 520 + 520) / 3.0);
    assert_near(m.kernels[1].head_median, 520);
    // The third block waited behind the first: 14700 - 14400.
    assert_near(m.kernels[2].head_mean, (400 + 420 + 300) / 3.0);
    assert_near(m.kernels[2].head_median, 400);
    assert_near(m.kernels[1].tail_mean, (500 + 580 + 1600) / 3.0);
    assert_near(m.kernels[1].tail_median, 580);
    assert_near(m.kernels[2].tail_median, 600);
    npu_metrics_free(&m);
    free(f);
}

static void the_bound_pipe_is_the_busiest_on_its_own_cores(void **state) {
    (void)state;
    fixture *f = fix_new();
    npu_metrics m = metrics_of(f);
    assert_int_equal(m.kernels[0].bound_pipe, NPU_PIPE_M);
    assert_near(m.kernels[0].bound_share, 0.75);
    assert_int_equal(m.kernels[1].bound_core, NPU_AIC); // 3600 of 4000; V: 3000 of 6980
    assert_int_equal(m.kernels[1].bound_pipe, NPU_PIPE_MTE2);
    assert_near(m.kernels[1].bound_share, 0.9);
    assert_int_equal(m.kernels[2].bound_core, NPU_AIV);
    assert_near(m.kernels[2].bound_share, 2000 / 5980.0);
    npu_metrics_free(&m);
    free(f);
}

static void shares_are_of_the_core_time_and_of_the_makespan(void **state) {
    (void)state;
    fixture *f = fix_new();
    npu_metrics m = metrics_of(f);
    assert_near(m.core_time, 4000 + 10980 + 5980);
    assert_near(m.kernels[1].core_share, 10980 / 20960.0);
    assert_near(m.kernels[0].core_share + m.kernels[1].core_share + m.kernels[2].core_share, 1);
    assert_near(m.aic_busy, 8000 / (17300.0 * 2));
    assert_near(m.aiv_busy, (6980 + 5980) / (17300.0 * 4));
    assert_int_equal(m.aicpu_count, 3);
    assert_near(m.aicpu_busy[0], 0.1);
    assert_near(m.aicpu_busy[1], 0.5);
    assert_near(m.aicpu_busy[2], 0);
    npu_metrics_free(&m);
    free(f);
}

static void the_chain_names_what_each_block_waited_for(void **state) {
    (void)state;
    static const npu_chain_link expected[] = {
        {0, 0, 1500, 4000, NPU_WAIT_FRONT}, // mm
        {2, 1, 1520, 4000, NPU_WAIT_DATA},  // fuse on AIV 4, which ends last
        {4, 3, 1380, 2000, NPU_WAIT_DATA},  // act, after fuse and the barrier
        {6, 3, 300, 2000, NPU_WAIT_CORE},   // act again, on the same core
    };
    fixture *f = fix_new();
    npu_metrics m = metrics_of(f);
    assert_int_equal(m.chain_count, 4);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(m.chain[i].row, expected[i].row);
        assert_int_equal(m.chain[i].task, expected[i].task);
        assert_int_equal(m.chain[i].reason, expected[i].reason);
        assert_near(m.chain[i].wait, expected[i].wait);
        assert_near(m.chain[i].exec, expected[i].exec);
    }
    npu_metrics_free(&m);
    free(f);
}

static void the_chain_tiles_the_makespan(void **state) {
    (void)state;
    fixture *f = fix_new();
    f->rows[1].end = 11035; // may overlap act's first start by two ticks
    f->rows[4].start = f->rows[4].receive = 11000;
    npu_metrics m = metrics_of(f);
    double sum = m.chain_exec + m.chain_tail;
    for (int i = 0; i < 3; i++)
        sum += m.chain_wait[i];
    assert_near(sum, m.makespan);
    sum = m.chain_tail;
    for (int i = 0; i < m.chain_count; i++)
        sum += m.chain[i].wait + m.chain[i].exec;
    assert_near(sum, m.makespan);
    npu_metrics_free(&m);
    free(f);
}

static void the_chain_passes_through_dummies(void **state) {
    (void)state;
    fixture *f = fix_new();
    f->edges[2] = f->edges[3]; // act waits for the barrier alone
    f->graph.edge_count = 3;
    npu_metrics m = metrics_of(f);
    assert_int_equal(m.chain_count, 4);
    assert_int_equal(m.chain[1].task, 1);
    assert_int_equal(m.chain[2].reason, NPU_WAIT_DATA);
    npu_metrics_free(&m);
    free(f);
}

static void a_run_without_rows_has_no_chain(void **state) {
    (void)state;
    fixture *f = fix_new();
    f->trace.row_count = 0;
    f->graph.task_count = f->graph.edge_count = 0;
    npu_metrics m = metrics_of(f);
    assert_int_equal(m.chain_count, 0);
    assert_near(m.chain_tail, 17300);
    assert_near(m.aic_busy, 0);
    npu_metrics_free(&m);
    free(f);
}

static char *report_of(fixture *f) {
    npu_metrics m = metrics_of(f);
    npu_report report = {&f->trace, &f->graph, &m, "A3"};
    sink s;
    sink_begin(&s);
    npu_report_print(s.out, &report);
    npu_metrics_free(&m);
    return sink_end(&s);
}

static void assert_holds(const char *text, const char *part) {
    if (strstr(text, part) == NULL)
        fail_msg("the report\n%s\ndoes not hold '%s'", text, part);
}

static void fill_totals(npu_totals *totals) {
    totals->load_bytes[NPU_WEIGHT] = 1500000;
    totals->store_bytes[NPU_ACTIVATION] = 2000;
    totals->mac_padded = 4000000;
    totals->mac_valid = 1000000;
    totals->vec_elements = 12345;
    totals->ops = 42;
    totals->hbm_read_bytes = 1384000;
    totals->hbm_peak = 1600;
    totals->l2_hit_bytes = 173000;
    totals->l2_read_peak = 100;
}

static void the_report_gives_every_figure_with_its_unit(void **state) {
    (void)state;
    fixture *f = fix_new();
    fill_totals(&f->trace.totals);
    char *text = report_of(f);
    assert_holds(text, "tiny on A3: makespan 17.3 us\n");
    assert_holds(text, "4 tasks (1 without a kernel), 5 blocks, 7 rows on 2 AIC and 4 AIV\n");
    assert_holds(text, "\nfuse                     MIX       1        1        3      4.0 us      "
                       "4.0 us     52.4 %\n");
    assert_holds(text, "\nmm                       AIC M        75.0 %   1.00 KB      10 B "
                       "500.0 ns/500.0 ns 600.0 ns/600.0 ns\n");
    assert_holds(text, "  AIC                23.1 %  cores in a kernel\n");
    assert_holds(text, "  HBM                 5.0 %  80.00 GB/s of 1.60 TB/s; read 1.38 MB, "
                       "written 0 B\n");
    assert_holds(text,
                 "  L2                 10.0 %  reads 10.00 GB/s of 100.00 GB/s; hit 173.00 KB, "
                 "missed 0 B\n");
    assert_holds(text, "  AICPU              10.0 %  orchestrator\n");
    assert_holds(text, "                     50.0 %  scheduler 0\n");
    assert_holds(text, "  weights             1.50 MB        0 B\n");
    assert_holds(text, "  cube                 4.00 M MAC, 1.00 M MAC of them valid (25.0 %), "
                       "0.12 TOPS valid\n");
    assert_holds(text, "  vector              12.35 k elements\n");
    assert_holds(text, "Longest chain: 4 blocks, kernels 12.0 us + data wait 2.9 us + core wait "
                       "300.0 ns\n  + front 1.5 us + last finish 600.0 ns = 17.3 us\n");
    assert_holds(text, "      14.7 us   300.0 ns core      2.0 us  core 2   act\n");
    free(text);
    free(f);
}

static void kernels_are_listed_by_their_core_time(void **state) {
    (void)state;
    fixture *f = fix_new();
    char *text = report_of(f);
    const char *fuse = strstr(text, "\nfuse ");
    const char *act = strstr(text, "\nact ");
    const char *mm = strstr(text, "\nmm ");
    assert_true(fuse != NULL && fuse < act && act < mm);
    free(text);
    free(f);
}

static void the_report_is_at_most_100_columns_wide(void **state) {
    (void)state;
    fixture *f = fix_new();
    fill_totals(&f->trace.totals);
    f->funcs[1].name = "a_kernel_with_a_name_that_is_far_too_long_for_the_table";
    f->tasks[1].name = "a_kernel_with_a_name_that_is_far_too_long_for_the_table[12345]";
    char *text = report_of(f);
    size_t width = 0;
    for (const char *c = text; *c != '\0'; c++) {
        width = *c == '\n' ? 0 : width + 1;
        assert_true(width <= 100);
    }
    free(text);
    free(f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_are_counted_by_function),
        cmocka_unit_test(a_mix_block_lasts_from_its_first_start_to_its_last_end),
        cmocka_unit_test(heads_count_from_dispatch_or_from_a_free_core),
        cmocka_unit_test(the_bound_pipe_is_the_busiest_on_its_own_cores),
        cmocka_unit_test(shares_are_of_the_core_time_and_of_the_makespan),
        cmocka_unit_test(the_chain_names_what_each_block_waited_for),
        cmocka_unit_test(the_chain_tiles_the_makespan),
        cmocka_unit_test(the_chain_passes_through_dummies),
        cmocka_unit_test(a_run_without_rows_has_no_chain),
        cmocka_unit_test(the_report_gives_every_figure_with_its_unit),
        cmocka_unit_test(kernels_are_listed_by_their_core_time),
        cmocka_unit_test(the_report_is_at_most_100_columns_wide),
    };
    return cmocka_run_group_tests_name("metrics and report", tests, NULL, NULL);
}

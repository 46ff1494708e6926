// SPDX-License-Identifier: Apache-2.0
// Any capture through every generation: writing and reading lose nothing.
#include "test_traces_records.h"

static uint64_t random_state;

static uint64_t any(uint64_t below) {
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    uint64_t value = random_state >> 11 ^ random_state << 21;
    return below == 0 ? value : value % below;
}

// A stamp, now and then close to the largest that is read.
static int64_t any_stamp(void) {
    return (int64_t)(any(8) == 0 ? any(UINT64_C(1) << 61) : any(UINT64_C(5000000000000)));
}

static const char *pick(const char *const *texts, int count) {
    return texts[any((uint64_t)count)];
}

static void any_rows(npu_capture *c, uint32_t epoch) {
    int rows = (int)any(30);
    for (int i = 0; i < rows; i++) {
        assert_int_equal(NPU_GROW(c, core_rows, core_row_count, core_row_capacity, NULL), NPU_OK);
        c->core_rows[c->core_row_count++] = (npu_core_row){.core = (int)any(6),
                                                           .task = any(0),
                                                           .reg_task_id = (uint32_t)any(40),
                                                           .start = any_stamp(),
                                                           .end = any_stamp(),
                                                           .setup = (int64_t)any(500) - 100,
                                                           .epoch = epoch,
                                                           .mate = -1};
    }
    for (int i = 0; i < rows; i++) {
        assert_int_equal(NPU_GROW(c, cpu_rows, cpu_row_count, cpu_row_capacity, NULL), NPU_OK);
        c->cpu_rows[c->cpu_row_count++] = (npu_cpu_row){.core = (int)any(6),
                                                        .reg_task_id = (uint32_t)any(40),
                                                        .dispatch = any_stamp(),
                                                        .finish = any_stamp(),
                                                        .epoch = epoch};
    }
}

static void any_record(npu_capture *c, int stream, uint32_t epoch) {
    static const char *const kinds[] = {"complete",      "dispatch", "drain",
                                        "graph_prepare", "a\"b\\",   "wire"};
    static const char *const extras[] = {NULL, NULL, "\"x\": [1, 2]",
                                         "\"y\": {\"z\": 18446744073709551615}, \"w\": null"};
    npu_record record = {.start = any_stamp(),
                         .end = any_stamp(),
                         .loop_iter = (int64_t)any(1000),
                         .processed = (int64_t)any(9) - 1,
                         .extra = pick(extras, 4),
                         .epoch = epoch,
                         .stream = stream,
                         .has = (unsigned)any(8)};
    if (record.has & NPU_RECORD_TASK)
        record.task = any(0);
    if (record.has & NPU_RECORD_POPS)
        record.pop_hit = (int64_t)any(99);
    for (int i = 0; i < 3 && (record.has & NPU_RECORD_DEPTHS); i++) {
        record.depth_start[i] = (int64_t)any(9);
        record.depth_end[i] = INT64_MIN + (int64_t)any(9); // no depth, but kept
    }
    assert_int_equal(npu_capture_kind(c, pick(kinds, 6), &record.kind, NULL), NPU_OK);
    assert_int_equal(NPU_GROW(c, records, record_count, record_capacity, NULL), NPU_OK);
    c->records[c->record_count++] = record;
}

static void any_streams(npu_capture *c, uint32_t epoch) {
    static const char *const words[] = {"aicpu", "aic", "a5", "q\"\n"};
    int streams = (int)any(4);
    assert_int_equal(npu_capture_streams(c, streams, NULL), NPU_OK);
    for (int id = 0; id < streams; id++) {
        int first = c->record_count;
        int count = id + 1 == streams ? 1 + (int)any(5) : (int)any(6); // no spare place at the end
        for (int i = 0; i < count; i++)
            any_record(c, id, epoch);
        c->streams[id] = npu_record_stream_usual(id, count);
        if (any(2) == 0) { // something to say of it
            c->streams[id].said = true;
            c->streams[id].core_type = pick(words, 4);
            c->streams[id].producer = pick(words, 4);
            c->streams[id].dropped = 1 + (int64_t)any(5);
            c->streams[id].has_physical = any(2) == 0;
            if (c->streams[id].has_physical)
                c->streams[id].physical_core_id = (int64_t)any(30);
            c->streams[id].truncated = any(2) == 0;
        }
        c->streams[id].first = first;
    }
}

static void any_calls(npu_capture *c, uint32_t epoch) {
    int calls = (int)any(12);
    for (int i = 0; i < calls; i++) {
        assert_int_equal(NPU_GROW(c, calls, call_count, call_capacity, NULL), NPU_OK);
        c->calls[c->call_count++] = (npu_call){.task = any(0),
                                               .start = any_stamp(),
                                               .end = any_stamp(),
                                               .submit_idx = i,
                                               .epoch = epoch,
                                               .lane = i / 8};
    }
}

static void any_capture(npu_capture *c, uint64_t seed) {
    static const char *const runtimes[] = {"tensormap_and_ringbuffer", "host_build_graph", "new"};
    random_state = seed;
    assert_int_equal(npu_capture_begin(c, "any", NULL), NPU_OK);
    uint32_t epoch = any(2) == 0 ? 0 : (uint32_t)any(UINT32_MAX);
    c->level = 1 + (int)any(4);
    c->clock_hz = any(2) == 0 ? 50000000 : 1 + (int64_t)any(UINT64_C(1000000000000));
    c->host_calls = any(4) == 0;
    c->runtime = pick(runtimes, 3);
    assert_int_equal(npu_capture_cores(c, 6, NULL), NPU_OK);
    c->threaded = any(2) == 0;
    for (int core = 0; core < 6; core++) {
        c->cores[core].type = core < 2 ? NPU_AIC : NPU_AIV;
        c->cores[core].thread = c->threaded ? (int)any(4) - 1 : -1;
    }
    any_rows(c, epoch);
    if (c->level >= 3)
        any_streams(c, epoch);
    if (c->level >= 4)
        any_calls(c, epoch);
    if (c->call_count == 0) // then nothing says whose calls they would be
        c->host_calls = false;
    if (any(3) == 0) {
        assert_int_equal(NPU_GROW(c, metadata, metadata_count, metadata_capacity, NULL), NPU_OK);
        c->metadata[c->metadata_count++] =
            (npu_member){"\"host_clock\"", "{\"anchors\": [1.5, null]}"};
    }
}

// For a capture and any two generations: written in the first, read, and written in the second,
// it is what it is when written in the second at once. Texts of all members are compared, so any
// bit that is lost shows.
static void reading_back_gives_the_same_capture_through_every_generation(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        npu_capture c;
        any_capture(&c, seed);
        char *direct[3];
        for (int g = NPU_G1; g <= NPU_G3; g++)
            direct[g] = write_text(&c, (npu_generation)g);
        for (int g = NPU_G1; g <= NPU_G3; g++) {
            npu_capture read = read_good(direct[g]);
            assert_int_equal(read.core_row_count, c.core_row_count);
            if (c.core_row_count > 0)
                assert_int_equal(read.generation, g);
            for (int h = NPU_G1; h <= NPU_G3; h++) {
                char *through = write_text(&read, (npu_generation)h);
                if (strcmp(through, direct[h]) != 0)
                    print_message("seed %d, %s to %s\n", (int)seed, npu_generation_names[g],
                                  npu_generation_names[h]);
                assert_text(through, direct[h]);
                free(through);
            }
            npu_capture_free(&read);
        }
        for (int g = NPU_G1; g <= NPU_G3; g++)
            free(direct[g]);
        npu_capture_free(&c);
    }
}

// The members themselves, for one capture, so that writer and reader cannot be wrong together.
static void every_member_comes_back(void **state) {
    (void)state;
    for (int g = NPU_G1; g <= NPU_G3; g++) {
        npu_capture c;
        any_capture(&c, 12);
        char *text = write_text(&c, (npu_generation)g);
        npu_capture r = read_good(text);
        assert_int_equal(r.level, c.level);
        assert_int_equal(r.clock_hz, c.clock_hz);
        assert_string_equal(r.runtime, c.runtime);
        assert_int_equal(r.core_count, c.core_count);
        assert_memory_equal(r.cores, c.cores, (size_t)c.core_count * sizeof *c.cores);
        for (int i = 0; i < c.core_row_count; i++) {
            r.core_rows[i].mate = c.core_rows[i].mate = 0;
            assert_memory_equal(&r.core_rows[i], &c.core_rows[i], sizeof *c.core_rows);
        }
        for (int i = 0; i < c.cpu_row_count; i++) {
            assert_true(r.cpu_rows[i].dispatch == c.cpu_rows[i].dispatch);
            assert_true(r.cpu_rows[i].finish == c.cpu_rows[i].finish);
            assert_int_equal(r.cpu_rows[i].reg_task_id, c.cpu_rows[i].reg_task_id);
            assert_int_equal(r.cpu_rows[i].epoch, c.cpu_rows[i].epoch);
        }
        assert_int_equal(r.record_count, c.record_count);
        for (int i = 0; i < c.record_count; i++) {
            const npu_record *x = &c.records[i], *y = &r.records[i];
            assert_true(x->start == y->start && x->end == y->end && x->task == y->task);
            assert_int_equal(x->has, y->has);
            assert_int_equal(x->stream, y->stream);
            assert_string_equal(c.kinds[x->kind], r.kinds[y->kind]);
            assert_string_equal(x->extra != NULL ? x->extra : "", y->extra != NULL ? y->extra : "");
            assert_memory_equal(x->depth_end, y->depth_end, sizeof x->depth_end);
        }
        assert_int_equal(r.call_count, c.call_count);
        for (int i = 0; i < c.call_count; i++)
            assert_true(r.calls[i].task == c.calls[i].task && r.calls[i].end == c.calls[i].end &&
                        r.calls[i].lane == c.calls[i].lane);
        npu_capture_free(&r);
        npu_capture_free(&c);
        free(text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reading_back_gives_the_same_capture_through_every_generation),
        cmocka_unit_test(every_member_comes_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

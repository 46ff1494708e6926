// SPDX-License-Identifier: Apache-2.0
// Captures from text and to text.
#ifndef TEST_TRACES_RECORDS_H
#define TEST_TRACES_RECORDS_H

#include "test_traces_fixture.h"

#include "records.h"

static inline npu_status read_text(const char *text, npu_capture *c, npu_error *err) {
    npu_json *json;
    FILE *file = tmpfile();
    assert_non_null(file);
    fputs(text, file);
    rewind(file);
    assert_int_equal(npu_json_open_stream(file, "r.json", NPU_JSON_ONE, &json, err), NPU_OK);
    npu_status status = npu_records_read_json(json, "r.json", c, err);
    npu_json_close(json);
    return status;
}

static inline npu_capture read_good(const char *text) {
    npu_capture c;
    npu_error err = {0};
    if (read_text(text, &c, &err) != NPU_OK)
        fail_msg("%s", err.text);
    return c;
}

static inline char *write_text(const npu_capture *c, npu_generation generation) {
    sink s;
    npu_error err = {0};
    sink_begin(&s);
    if (npu_records_write(s.out, c, generation, &err) != NPU_OK)
        fail_msg("%s", err.text);
    return sink_end(&s);
}

#endif
